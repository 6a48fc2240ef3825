"""What a program can do wrong or too much of: memory comes back, Ctrl-C stops it, nothing crashes."""

from __future__ import annotations

import signal
import subprocess
import time

import pytest

from conformance.micropython.device import run_unix
from pilotlight.micropython.build import unix_binary
from support.micropython_scripts import default_binary, output
from support.paths import ROOT

LOOP = """
import gc, torch
a, b = torch.ones(8), torch.ones(8)
m = torch.ones(4, 4)

def work(count):
    for k in range(count):
        a.add_(b)
        c = torch.add(a, b)
        c = (a * 2 - b)[1:5].sum()
        c = m @ m
        c = a.view(2, 4).t().contiguous()
        c = torch.cat([a, b]).max()
        try:
            a.view(3)
        except RuntimeError:
            pass
        c.item()
        a.mul_(0.5)
        c = None

work(200)
gc.collect()
before = gc.mem_alloc()
work(COUNT)
gc.collect()
print(gc.mem_alloc() - before)
"""


def test_a_hundred_thousand_operations_leak_nothing() -> None:
    assert abs(int(output(LOOP.replace("COUNT", "9000")))) <= 64  # a hundred thousand operations and more


def test_a_small_heap_is_enough_for_a_long_loop() -> None:
    done = subprocess.run([default_binary(), "-X", "heapsize=96k", "-c", LOOP.replace("COUNT", "2000")],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


TOO_MUCH = {
    "too many elements": "torch.zeros(10**9)",
    "more bytes than an address": "torch.ones(70000, 70000)",
    "a product that overflows": "torch.ones(2**31 - 1, 2**31 - 1, 4)",
    "a size that is no int32": "torch.zeros(2**40)",
    "an expanded tensor made real": "torch.ones(1).expand(50000, 50000).contiguous()",
    "an outer product": "torch.ones(60000).outer(torch.ones(60000))",
    "a broadcast sum": "torch.ones(60000, 1) + torch.ones(1, 60000)",
    "a repetition": "torch.ones(1000).repeat(1000, 1000, 1000)",
    "a range": "torch.arange(10**10)",
    "a unit matrix": "torch.eye(100000)",
    "padding": "torch.nn.functional.pad(torch.ones(1, 1), (0, 2**30, 0, 2**30))",
    "random numbers": "torch.rand(10**9)",
    "a convolution": "torch.conv2d(torch.ones(1, 1, 9, 9), torch.ones(1, 1, 1, 1), padding=2**29)",
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_too_much_memory_raises_and_the_next_line_works(what: str) -> None:
    script = f"""
import gc, torch
a = torch.ones(3)
for _ in range(3):
    try:
        {TOO_MUCH[what]}
        print("no error")
    except (MemoryError, RuntimeError) as error:
        print(type(error).__name__)
    gc.collect()
    print((a + a).tolist())
"""
    lines = output(script).split("\n")[:6]
    assert set(lines[::2]) <= {"MemoryError", "RuntimeError"}, lines
    assert lines[1::2] == ["[2.0, 2.0, 2.0]"] * 3


def test_a_full_heap_raises_memory_error_and_is_usable_afterwards() -> None:
    lines = output("""
import gc, torch
for _ in range(3):
    kept = []
    try:
        while True:
            kept.append(torch.ones(1000))
    except MemoryError:
        count = len(kept)
        kept = None
        gc.collect()
        print("MemoryError", count > 100, torch.ones(3).sum().item())
""").splitlines()
    assert lines == ["MemoryError True 3.0"] * 3


def test_an_operation_that_runs_out_of_memory_leaves_its_arguments_alone() -> None:
    text = output("""
import gc, torch
a = torch.arange(30000.)
kept = []
try:
    while True:
        kept.append(bytearray(4096))
except MemoryError:
    pass
failed = 0
for call in (lambda: a + 1, lambda: a.sort(), lambda: torch.cat([a, a]), lambda: a.flip(0),
             lambda: torch.add(a, a, out=torch.zeros(0)), lambda: a.view(100, 300).t().contiguous()):
    try:
        call()
    except MemoryError:
        failed += 1
kept = None
gc.collect()
print(failed, a.shape, a.sum().item() == torch.arange(30000.).sum().item())
""")
    assert text == "6 torch.Size([30000]) True\n"


LONG = {
    "a matrix product": "torch.ones(4000, 4000) @ torch.ones(4000, 4000)",
    "a convolution": "torch.conv2d(torch.ones(4, 64, 128, 128), torch.ones(256, 64, 13, 13))",
    "a sum of broadcast": "[torch.ones(20000, 1).expand(20000, 20000).sum() for _ in range(100)]",
    "a pointwise loop": "[torch.sin(torch.ones(200000)) for _ in range(10000)]",
    "a sort": "torch.randperm(10000000).sort()",
    "a loop of texts": "[repr(torch.rand(30, 30)) for _ in range(100000)]",
    "a cumulative sum": "[torch.ones(1000000).cumsum(0) for _ in range(1000)]",
    "a softmax": "[torch.ones(1000, 1000).softmax(1) for _ in range(1000)]",
}


@pytest.mark.parametrize("what", LONG)
def test_a_keyboard_interrupt_stops_a_long_operation(what: str) -> None:
    script = f"""
import torch
print("started")
try:
    {LONG[what]}
    print("went to its end")
except KeyboardInterrupt:
    print("stopped", torch.ones(3).sum().item())
"""
    process = subprocess.Popen([default_binary(), "-X", "heapsize=512m", "-c", script], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert out == "stopped 3.0\n", (out, err)
    assert process.returncode == 0


def test_the_prompt_lives_on_after_an_interrupt() -> None:
    process = subprocess.Popen([default_binary(), "-i", "-X", "heapsize=64m"], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdin is not None
    try:
        process.stdin.write("import torch\na = torch.ones(1200, 1200)\nfor _ in range(1000): a @ a\n\n")
        process.stdin.flush()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        process.stdin.write("print('after', a.sum().item())\n")
        process.stdin.close()
        process.stdin = None
        out, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in out
    assert "after 1440000.0" in out


def test_no_file_of_the_module_has_state_of_its_own() -> None:
    """A soft reset empties the heap: what points into it must be a root pointer."""
    folder = ROOT / "src" / "pilotlight" / "micropython" / "cmodule"
    found = []
    for path in sorted(folder.glob("*.c")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("static ") and "(" not in line and "const" not in line and line.rstrip().endswith(";"):
                found.append(f"{path.name}:{number}: {line}")
    assert not found


EXTREMES = (
    "torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 2, 1, 1), groups=2147483647)",
    "torch.conv_transpose2d(torch.ones(1, 1, 3, 3), torch.ones(1, 2, 1, 1), groups=2147483647)",
    *(f"torch.arange({start}, {end}, {step}, dtype=torch.int64)" for number in ("'nan'", "'inf'", "'-inf'", "1e30")
      for start, end, step in ((f"float({number})", 3, 1), (0, f"float({number})", 1), (0, 3, f"float({number})"))),
    "torch.arange(3, -2**63, 2**62)", "torch.arange(-2**63, 3, -2**63)",
)


def test_numbers_at_the_ends_of_their_types() -> None:
    """No overflow on the way to the error, says the sanitizer."""
    answers = run_unix(unix_binary(sanitize=True), [f"r={text}" for text in EXTREMES])
    assert [answer.split()[:2] for answer in answers.values()] == [["error", "RuntimeError"]] * len(EXTREMES)
    exact = "r=torch.arange(-2**63, 2**63 - 1, 2**62), torch.arange(5, 0, -2**63 + 1)"
    assert run_unix(unix_binary(sanitize=True), [exact])[0].count("t:int64") == 2
