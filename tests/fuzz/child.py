"""A verdict from a child process: a crash or an endless loop does no harm outside it."""

from __future__ import annotations

import json
import os
import resource
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict

from fuzz.check import Verdict, check

SECONDS = 60  # of CPU for one model on all its boards
PATIENCE = 600.0  # by the clock, on a machine that others use too
WARM = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.register_buffer("h", torch.zeros(1, 3))
    def forward(self, x):
        self.h = self.h * 0.5 + self.fc(x).relu()
        return self.h.softmax(-1)
def model():
    return Net().eval()
def inputs(call):
    g = torch.Generator().manual_seed(call)
    return (torch.randn(1, 4, generator=g),), {}
"""


def warm() -> None:
    """What every child would do once more: imports, PyTorch's tables of operators."""
    for mode in ("float", "int8"):
        check(WARM, mode)


def isolated(text: str, mode: str, boards: Sequence[str] = (), seconds: int = SECONDS) -> tuple[Verdict, float]:
    """The verdict for a program and the CPU seconds that it took."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        status = 1
        try:
            os.write(writer, json.dumps(asdict(check(text, mode, boards))).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    started, data = time.monotonic(), b""
    signal.signal(signal.SIGALRM, lambda *_: _kill(pid))
    signal.alarm(int(PATIENCE))
    while piece := os.read(reader, 65536):
        data += piece
    signal.alarm(0)
    os.close(reader)
    _, status, used = os.wait4(pid, 0)
    _kill(pid)  # what it may have left behind
    cpu = used.ru_utime + used.ru_stime
    if data and status == 0:
        return Verdict(**json.loads(data)), cpu
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return Verdict(
            "crashed", "time", f"not done after {cpu:.0f} s of CPU, {time.monotonic() - started:.0f} s by the clock"
        ), cpu
    return Verdict("crashed", "process", f"died with status {status}"), cpu


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
