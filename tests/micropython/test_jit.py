"""torch.jit.load under MicroPython: the archive's own code gives what PyTorch's run of the archive gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from pilotlight.micropython import ports
from pilotlight.micropython.build import build
from pilotlight.micropython.select import SMALL, select
from pilotlight.micropython.session import open_session
from support import scripted_models
from support.micropython_jit import agree, differences, saved, script
from support.micropython_scripts import output
from zoo import ZOO, load

BOARD = "mps2-an386"
SILERO = "silero-vad==6.2.3"
EVERYTHING = bool(os.environ.get("PILOTLIGHT_ALL_MODELS"))
SCRIPTED, TRACED = "script", "trace"
FEW = [("mlp", SCRIPTED), ("lstm", SCRIPTED), ("gru", TRACED), ("encoder", SCRIPTED), ("encoder", TRACED),
       ("tcn", SCRIPTED), ("gpt", SCRIPTED), ("cnn1d", TRACED)]
NOT_SCRIPTED = ("shufflenet", "bert_tiny", "convnext")  # torch.jit.script does not take them
ALL = [(name, how) for name in ZOO if name != "alexnet" for how in (SCRIPTED, TRACED)
       if how == TRACED or name not in NOT_SCRIPTED]  # make torchscript-micropython


@pytest.mark.parametrize(("name", "how"), ALL if EVERYTHING else FEW)
def test_models_of_the_zoo(tmp_path: Path, name: str, how: str) -> None:
    module, inputs = load(name)
    path = saved(module, tmp_path / "m.pt", *(inputs if how == TRACED else ()))
    torch.save(list(inputs), tmp_path / "inputs.pt")
    given = f"*[x if x.dtype == torch.int64 else x * {{}} for x in torch.load({str(tmp_path / 'inputs.pt')!r})]"
    agree(path, [f"m({given.format(factor)})" for factor in (1.0, -0.5, 1.25)], tolerance=1e-5)


ROWS = [f"torch.tensor([[{', '.join(map(str, row))}]])" for row in (
    (0.5, -1.0, 2.0, 0.25), (-3.0, 0.5, 0.0, 1.0), (1.0, 1.5, -0.5, 0.75), (0.125, 0.25, 4.0, -2.0),
)]


@pytest.mark.parametrize("name", [
    "Filter", "Gate", "Memory", "Counter", "Endless", "Ragged", "Collector", "Careful", "Writer", "Forked",
])
def test_state_loops_dictionaries_and_decisions(tmp_path: Path, name: str) -> None:
    torch.manual_seed(0)
    agree(saved(getattr(scripted_models, name)(), tmp_path / "m.pt"), [f"m({row})" for row in ROWS * 2])


def test_state_that_the_first_call_makes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    calls = [f"m({row}[:, :3])" for row in ROWS]
    agree(saved(scripted_models.Lazy(0.25), tmp_path / "m.pt"), [*calls, "m.h", "m.pair", "m.last", "m.empty"])


def test_writes_in_place_named_tuples_and_sizes(tmp_path: Path) -> None:
    agree(saved(scripted_models.Wave(), tmp_path / "w.pt"), [f"m({row}[:, 1:3], 2)" for row in ROWS] + ["m.ring"])
    x = "torch.arange(16.).view(2, 8)"
    agree(saved(scripted_models.Points(), tmp_path / "p.pt"), [f"m({x})", f"m({x}).x"])
    agree(saved(scripted_models.Sizes(), tmp_path / "s.pt"), [f"m({x})", "m(torch.ones(1, 4))"])


def test_a_module_as_the_user_sees_it(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 3))
    net[2].weight = net[0].weight
    path = saved(net, tmp_path / "m.pt")
    x = "torch.arange(6.).view(2, 3)"
    agree(path, [
        "list(m.state_dict())", "[(n, p) for n, p in m.named_parameters()]", "[n for n, _ in m.named_buffers()]",
        "[n for n, _ in m.named_modules()]", "len(list(m.parameters()))", "getattr(m, '0').weight", "str(m)",
        "getattr(m, '0').weight is getattr(m, '2').weight", "getattr(m, '0') is getattr(m, '0')", "m.training",
        "m.train().training", f"m({x})", "getattr(m, '1').running_mean", "m.eval().training",
        "getattr(m, '1').training", "isinstance(m, torch.nn.Module)", "m.original_name", "m.nothing",
        "str(m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}))", f"m({x})",
        f"m.forward({x})", "getattr(m, '0').forward(torch.ones(3))", "m.half() is m",
        "getattr(m, '0').weight.dtype == torch.float16", f"m.float()({x})",
    ])


def test_state_of_a_file_in_memory_is_copied_and_parameters_are_not(tmp_path: Path) -> None:
    class Running(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1000))
            self.register_buffer("total", torch.zeros(2))
            self.plain = torch.arange(4.0)
            self.part = self.plain[2:]
            self.seen = [torch.zeros(2)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total += x
            self.plain.mul_(2)
            self.seen[0].add_(self.part)
            return self.total + self.weight[:2] + self.part + self.seen[0]

    path = saved(Running(), tmp_path / "m.pt")
    calls = ["m(torch.ones(2))", "m(torch.arange(2.))", "m.total", "m.plain", "m.part", "m.seen"]
    text = script("m.pt", calls).replace("torch.jit.load('m.pt')", "torch.jit.load(data, map_location='cpu')")
    *said, inside = output(f"""with open('m.pt', 'rb') as file:
    data = file.read()
{text}
first = torch.frombuffer(data, dtype=torch.uint8).data_ptr()
print([first < t.data_ptr() < first + len(data) for t in (m.weight, m.total, m.plain)])
""", cwd=path.parent).splitlines()
    assert not differences(path, calls, said)
    assert inside == "[True, False, False]"


def test_it_says_so_where_an_operator_is_missing(tmp_path: Path) -> None:
    class Spectrum(nn.Module):
        def forward(self, x: torch.Tensor, now: bool) -> torch.Tensor:
            if now:
                x = torch.special.bessel_j0(x)
            return x

    path = saved(Spectrum(), tmp_path / "m.pt")
    said = output("""
import torch
m = torch.jit.load('m.pt')
print(m(torch.ones(2), False).tolist())
try:
    m(torch.ones(2), True)
except RuntimeError as error:
    print(error)
""", cwd=path.parent).splitlines()
    assert said[0] == "[1.0, 1.0]"
    assert said[1].startswith('torch.special_bessel_j0 is not in this build of torch; "code/__torch__/')
    assert said[1].endswith('test_jit.py", line 10, in forward uses it')


def on_board(path: Path, text: str) -> list[str]:
    """What a script prints on an emulated board that has a file in its flash, as `mapped`."""
    port = ports.port(BOARD)
    assert port.board is not None and port.board.emulator is not None
    at = 0x0010_0000  # after the firmware
    loader = ("-device", f"loader,file={path},addr={at:#x},force-raw=on")
    board = replace(port.board, emulator=replace(port.board.emulator, args=(*port.board.emulator.args, *loader)))
    said: list[bytes] = []
    with open_session(board, build(port)) as session:
        head = f"import uctypes\nmapped = uctypes.bytearray_at({at}, {path.stat().st_size})\n"
        assert session.execute(head + text, said.append, said.append), b"".join(said)
    return b"".join(said).decode().splitlines()


def test_on_a_board_from_memory_that_is_mapped(tmp_path: Path) -> None:
    torch.manual_seed(0)
    path = saved(scripted_models.Filter(), tmp_path / "m.pt")
    calls = [f"m({row})" for row in ROWS]
    text = script("m.pt", calls).replace("torch.jit.load('m.pt')", "torch.jit.load(mapped)")
    where = "print([0x100000 < t.data_ptr() < 0x400000 for t in m.parameters()])"
    *said, mapped = on_board(path, text + where)
    assert not differences(path, calls, said, tolerance=1e-5)
    assert mapped == "[True, True, True, True]"


def test_a_build_that_does_not_ask_for_it_has_nothing_of_it() -> None:
    assert {"jit_load", "jit_Error"}.isdisjoint(unit.name for unit in SMALL.units())
    assert not [name for name in SMALL.kernels() if name.startswith("_jit")]
    assert not [path for path in SMALL.python_files() if path.name in ("_jit.py", "_script.py")]
    chosen = select(["softmax"], [], "here").with_parts(["jit"])
    assert {"_jit_source.default", "_jit_inflate.default"} <= chosen.kernels().keys()
    assert chosen.python is not None and {"torch._jit", "torch._script", "torch.nn"} <= set(chosen.python)


@pytest.fixture(scope="module")
def silero(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripted model in the package of that name, next to a signal of 24 chunks."""
    folder = tmp_path_factory.mktemp("silero")
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, SILERO], check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        (folder / "m.pt").write_bytes(wheel.read("silero_vad/data/silero_vad.jit"))
    torch.manual_seed(0)
    t = torch.arange(24 * 512) / 16000
    voice = torch.sin(1130 * t + 8 * torch.sin(19 * t)) * (torch.sin(12 * t) > 0) + 0.1 * torch.randn(len(t))
    (folder / "signal").write_bytes(bytes((voice * 9000).short().view(torch.uint8).tolist()))
    return folder


CHUNKS = """
m = torch.jit.load({source})
x = torch.frombuffer({signal}, dtype=torch.int16).float() / 32768
for again in range(2):
    print([m(x[k : k + 512][None], 16000).item() for k in range(0, len(x), 512)])
    m.reset_states()
"""


@pytest.mark.skipif(not EVERYTHING, reason="make torchscript-micropython: needs a package from PyPI")
@pytest.mark.parametrize("where", ["host", BOARD])
def test_silero_vad_with_its_state(silero: Path, where: str) -> None:
    said: list[str] = []
    space = {"torch": torch, "print": lambda values: said.append(str(values))}
    with torch.no_grad():
        exec(CHUNKS.format(source=repr(str(silero / "m.pt")), signal=repr((silero / "signal").read_bytes())), space)
    wanted = [json.loads(line) for line in said]
    if where == "host":
        signal = f"open({str(silero / 'signal')!r}, 'rb').read()"
        lines = output("import torch\n" + CHUNKS.format(source="'m.pt'", signal=signal), cwd=silero).splitlines()
    else:
        both = silero / "both"
        both.write_bytes((silero / "m.pt").read_bytes() + (silero / "signal").read_bytes())
        size = (silero / "m.pt").stat().st_size
        lines = on_board(both, "import torch\n" + CHUNKS.format(
            source=f"memoryview(mapped)[:{size}]", signal=f"bytes(memoryview(mapped)[{size}:])"
        ))
    got = [json.loads(line) for line in lines]
    assert [len(run) for run in got] == [24, 24] and max(wanted[0]) > 2 * min(wanted[0])
    worst = max(abs(a - b) for one, other in zip(wanted, got, strict=True) for a, b in zip(one, other, strict=True))
    assert worst < 1e-5
    print(f"silero-vad on {where}: largest difference {worst:.1e}")
