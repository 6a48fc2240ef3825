"""Mutated files through torch.load, torch.jit.load, safetensors and native modules under sanitizers.

    python -m support.fuzz_files [--count 100000] [--first 0] [--jobs 2]

Every file must give a value or one of our sentences: no crash, no other exception, no load of more than two seconds,
no more memory than a heap of 2 MB for files of up to 10 KB. Tensors of a file in memory must lie inside it; weights
that a native module takes must be its own. Every fifth file is one of weights, every seventh of the others TorchScript.
A file that fails has a number: `--first NUMBER --count 1` makes it again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter, OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

import pilotlight as pl
from pilotlight.micropython.build import unix_binary
from support.hostile_files import ARCHIVES, SAFETENSORS, saved
from support.hostile_scripts import SCRIPTS, mutable
from support.native_modules import built

HEAP = 2 << 20
BATCH = 2000  # files of a process
LARGEST = 10_000  # bytes of a file that is mutated
SCRIPT = """
import io, random, time
import torch
from safetensors.torch import load_file
import native

def corpus(kind, count):
    files = []
    for k in range(count):
        with open('%s/%d' % (kind, k), 'rb') as file:
            files.append(file.read())
    return files

CORPUS = corpus('pt', {archives}), corpus('st', {safetensors}), corpus('wt', 1), corpus('ts', {scripts})
WEIGHTS, RIGHT = CORPUS[2][0], native.load('wt/0').run(bytes(32))
NUMBERS = (0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff)
OPCODES = b'(t.NKMJGXUqrhjQRcb}}])aseu\\x85\\x86\\x87\\x88\\x89\\x8a\\x80'

def mutated(files):
    data = bytearray(random.choice(files))
    # two of three only inside the pickle, which comes first, or in the text in JSON: the rest then stays as it was
    inside = random.randrange(3) and data.find(b'PK', 42)
    for _ in range(random.randrange(1, 3 if inside else 5)):
        size = len(data)
        if not size:
            break
        at = random.randrange(40, inside) if inside > 40 else random.randrange(size)
        kind = random.choice((0, 1, 2, 2, 3, 7, 8)) if inside else random.randrange(9)
        if kind == 0:
            data[at] = random.getrandbits(8)
        elif kind == 1:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 2:
            data[at] = random.choice(OPCODES)
        elif kind == 3:
            width = random.choice((1, 2, 4))
            number = random.choice(NUMBERS) & (1 << 8 * width) - 1
            data[at : at + width] = number.to_bytes(width, 'little')
        elif kind == 4:
            data = data[:at]
        elif kind == 5:
            data = data[:at] + data[at + random.randrange(1, 20):]
        elif kind == 6:
            data = data[:at] + bytes([random.getrandbits(8) for _ in range(random.randrange(1, 9))]) + data[at:]
        else:  # a piece of this file or of another, over what is there or between it
            other = data if kind == 7 else random.choice(files)
            start = random.randrange(len(other) or 1)
            piece = bytes(other[start : start + random.randrange(1, 60)])
            piece = piece[: inside - at] if inside > 40 else piece
            data = data[:at] + piece + data[at + (len(piece) if inside or random.getrandbits(1) else 0):]
    return data

class OnlyRead:
    def __init__(self, data):
        self.data = data
    def read(self, *size):
        return self.data

class Pieces:
    def __init__(self, data):
        self.stream, self.size = io.BytesIO(data), random.randrange(1, 100)
    def readinto(self, buffer):
        return self.stream.readinto(memoryview(buffer)[:self.size])

def load_weights(data, how):
    source = data if how == 0 else io.BytesIO(data) if how == 1 else Pieces(data)
    try:
        m = native.load(source)
    except ValueError as error:
        raise RuntimeError(error)
    if data[:len(WEIGHTS)] != WEIGHTS or m.run(bytes(32)) != RIGHT:
        raise ArithmeticError('other weights were taken')

def load_script(source):
    return torch.jit.load(source).state_dict()

# every tensor of a value is used, and lies in the file that it is mapped from
def use(value, data):
    waiting, seen, start = [value], [], torch.frombuffer(data, dtype=torch.uint8).data_ptr()
    while waiting and len(seen) < 500:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            if 0 < value.numel() < 10000:
                value.sum()
                last = sum([(n - 1) * step for n, step in zip(value.shape, value.stride())]) + 1
                inside = value.data_ptr() - start
                if 0 <= inside < len(data) and inside + last * value.dtype.itemsize > len(data):
                    raise ArithmeticError('a tensor lies outside the file')
        elif isinstance(value, (list, tuple, dict)) and id(value) not in seen:
            seen.append(id(value))
            waiting.extend(list(value.values()) if isinstance(value, dict) else list(value))

for number in range({first}, {first} + {count}):
    random.seed(number)
    kind = 2 if number % 5 == 4 else 3 if number % 7 == 6 else number % 4 == 3
    data = mutated(CORPUS[kind])
    how = random.randrange(3)
    source = data if how == 0 else io.BytesIO(data) if how == 1 else OnlyRead(data)
    began = time.ticks_ms()
    try:
        value = load_weights(data, how) if kind == 2 else (torch.load, load_file, None, load_script)[kind](source)
        said = 'loaded'
        if data and kind != 2:
            use(value, data)
    except RuntimeError as error:
        said = str(error)[:60]
    except Exception as error:
        said = 'FAILED %d %r' % (number, error)
    value = None
    if time.ticks_diff(time.ticks_ms(), began) > 2000:
        said = 'FAILED %d took too long' % number
    print(number, said)
"""


def write_corpus(folder: Path) -> dict[str, int]:
    """Good files of both forms, and the hostile ones."""
    x = torch.arange(24.0).reshape(2, 3, 4)
    types = (torch.bool, torch.uint8, torch.int16, torch.int64, torch.float16, torch.bfloat16)
    values: list[object] = [
        torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).state_dict(), [x, x.transpose(0, 2), x[1]],
        OrderedDict((str(t), torch.arange(5).to(t)) for t in types), torch.tensor(3),
        {"a": [1, 2.5, None, (True, "é")], "b": [torch.nn.Parameter(x[0]), torch.empty(0), 2**70]},
        [torch.Size([2]), torch.float16, torch.device("cpu"), b"ab", {3}],
    ]
    about = (b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},'
             b'"b":{"dtype":"U8","shape":[2,4],"data_offsets":[8,16]}}')
    safe = [data for name, (data, _) in SAFETENSORS.items() if name not in ("nothing", "deep JSON")]
    files = {
        "pt": [*(12 * [saved(value) for value in values]), *(data for data, _ in ARCHIVES.values())],
        "st": [*safe, *(9 * [len(about).to_bytes(8, "little") + about + bytes(16)])],
    }
    counts = {}
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 12), torch.nn.ReLU(), torch.nn.Linear(12, 3)).eval()
    module, _ = built(pl.capture(net, (torch.ones(1, 8),), "native"))
    weights, code = module.files["native.bin"], module.files["native.mpy"]
    assert isinstance(weights, bytes) and isinstance(code, bytes)
    (folder / "native.mpy").write_bytes(code)
    files["wt"] = [weights]
    scripts = [data for name, (data, _, _) in SCRIPTS.items() if name != "much in few bytes"]  # which takes 750 KB
    files["ts"] = [*(12 * mutable()), *scripts]
    for kind, contents in files.items():
        (folder / kind).mkdir()
        short = [data for data in contents if 0 < len(data) < LARGEST]
        for k, data in enumerate(short):
            (folder / kind / str(k)).write_bytes(data)
        counts[kind] = len(short)
    return counts


def run(program: Path, folder: Path, counts: dict[str, int], first: int, count: int) -> tuple[Counter[str], list[str]]:
    """How often each thing was said in a batch, and what failed."""
    script = folder / f"{first}.py"
    numbers = {"archives": counts["pt"], "safetensors": counts["st"], "scripts": counts["ts"]}
    script.write_text(SCRIPT.format(**numbers, first=first, count=count))
    done = subprocess.run([program, "-X", f"heapsize={HEAP}", script], cwd=folder, capture_output=True, text=True,
                          errors="replace", timeout=1200)
    lines = done.stdout.splitlines()
    said = Counter(line.partition(" ")[2] for line in lines)
    failed = [line for line in lines if " FAILED " in line]
    if done.returncode or len(lines) != count:
        last = lines[-1].partition(" ")[0] if lines else "none"
        failed.append(f"ended with {done.returncode} after file {last}: {done.stderr[-2000:]}")
    return said, failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m support.fuzz_files")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    program = unix_binary(sanitize=True)
    total: Counter[str] = Counter()
    failures: list[str] = []
    end = options.first + options.count
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(options.jobs) as pool:
        folder = Path(temporary)
        counts = write_corpus(folder)
        starts = range(options.first, end, BATCH)
        for said, failed in pool.map(lambda k: run(program, folder, counts, k, min(BATCH, end - k)), starts):
            total.update(said)
            failures += failed
            print(f"{sum(total.values()):,} files, {total['loaded']:,} loaded, {len(failures)} failed", file=sys.stderr)
    for failure in failures[:20]:
        print(failure)
    for text, times in total.most_common(12):
        print(f"{times:8,} {text}")
    print(f"{sum(total.values()):,} files: {total['loaded']:,} loaded, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
