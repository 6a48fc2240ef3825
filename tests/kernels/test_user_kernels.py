"""Kernels that users add: checked against what they declare, then part of a model like our own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pilotlight as pl
from pilotlight import boards
from pilotlight.check.cases import Case
from pilotlight.check.run import _Check
from pilotlight.custom import withdraw_kernel
from pilotlight.graph import FLOAT32, Node, Quant, Value
from support.modules import Forward
from support.user_kernels import no_kernel_stays

BOARD = "mps2-an386"
pytestmark = pytest.mark.usefixtures(no_kernel_stays.__name__)


@torch.library.custom_op("userkernels::smooth", mutates_args=())
def smooth(x: torch.Tensor, factor: float) -> torch.Tensor:
    """y[t] = x[t] + factor * x[t - 1], and the first as it is."""
    shifted = torch.cat([torch.zeros_like(x[..., :1]), x[..., :-1]], -1)
    return x + factor * shifted


@smooth.register_fake
def _(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.empty_like(x)


SOURCE = """
void smooth_f32(const float *x, float *y, int32_t n, int32_t t, float factor)
{
    for (int32_t row = 0; row < n; row++) {
        float before = x[row * t];
        y[row * t] = x[row * t];
        for (int32_t k = 1; k < t; k++) {
            const float now = x[(row * t) + k];
            y[(row * t) + k] = now + (factor * before);
            before = now;
        }
    }
}
"""
FIRST = "y[row * t] = x[row * t];"


def smooth_kernel(**changes: Any) -> pl.Kernel:
    """A right kernel, with changes."""
    given: dict[str, Any] = {
        "name": "smooth_f32", "op": "userkernels::smooth", "takes": ("float32[..., t]",),
        "gives": ("float32[..., t]",), "parameters": {"factor": (0.5, -2.0)},
        "prototype": "void smooth_f32(const float *x, float *y, int32_t n, int32_t t, float factor)",
        "source": SOURCE, "cost": "6 * batch * t + 10", "finite": True,
    }
    return pl.Kernel(**{**given, **changes})


def with_scratch(size: str, body: str = "s[k] = x[(row * t) + k];") -> pl.Kernel:
    """The same by way of a row in scratch memory."""
    prototype = "void smooth_f32(const float *x, float *y, void *scratch, int32_t n, int32_t t, float factor)"
    source = f"""
{prototype}
{{
    float *s = scratch;
    for (int32_t row = 0; row < n; row++) {{
        for (int32_t k = 0; k < t; k++) {{
            {body}
        }}
        for (int32_t k = 0; k < t; k++) {{
            y[(row * t) + k] = s[k] + ((k > 0) ? (factor * s[k - 1]) : 0.0f);
        }}
    }}
}}
"""
    return smooth_kernel(prototype=prototype, source=source, scratch=size)


def changed(old: str, new: str, **changes: Any) -> pl.Kernel:
    assert old in SOURCE
    return smooth_kernel(source=SOURCE.replace(old, new), **changes)


def check(kernel: pl.Kernel, board: str = BOARD) -> Any:
    """Without what earlier checks found."""
    return _Check(pl.add_kernel(kernel), boards.load(board), (), pl.Options()).run()


def case_of(kernel: pl.Kernel, node: Node) -> Case:
    bound = kernel.bind(node.inputs, node.attrs["parameters"])
    assert bound is not None
    return Case(bound, node.attrs["parameters"])


def problem(kernel: pl.Kernel, board: str = BOARD) -> str:
    with pytest.raises(pl.KernelError) as error:
        check(kernel, board)
    assert error.value.kind == "bad-kernel" and "\n" not in error.value.message
    return error.value.message.removeprefix("kernel smooth_f32: ")


# ---- what is right ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [smooth_kernel(overlaps={(0, 0): 0}), with_scratch("4 * t")], ids=["plain", "scratch"]
)
def test_a_right_kernel_passes_and_is_used(kernel: pl.Kernel) -> None:
    pl.add_kernel(kernel)
    net, x = Forward(lambda v: torch.relu(smooth(v * 2, 0.5)) + 1), torch.randn(2, 3, 9)
    build = pl.compile(pl.capture(net, (x,), "net"), BOARD)
    assert "smooth_f32.c" in build.module.files
    session = build.session()
    assert session.match and [r.op for r in session.operators if "smooth" in r.op] == ["userkernels.smooth"]
    (choice,) = build.selection.values()
    assert choice.candidate.name == "smooth_f32" and choice.candidate.instructions == 6 * 6 * 9 + 10
    (node,) = [n for n in build.lowered.nodes if n.op == "userkernels.smooth"]
    passed = pl.check_kernel(kernel, BOARD, own=[case_of(kernel, node)])  # kept from the compilation
    assert passed.shapes >= 8 and passed.calls > 100 and passed.stack


def test_a_passed_check_is_kept_until_the_text_changes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path))
    kernel = pl.add_kernel(smooth_kernel())
    first = pl.check_kernel(kernel, "host")
    monkeypatch.setattr(_Check, "run", lambda self: pytest.fail("it was checked again"))
    assert pl.check_kernel(pl.add_kernel(smooth_kernel()), "host") == first
    other = pl.add_kernel(smooth_kernel(source=SOURCE + "/* another text */\n"))
    with pytest.raises(pytest.fail.Exception, match="checked again"):
        pl.check_kernel(other, "host")


# ---- lies ---------------------------------------------------------------------------------------------------------


def test_a_wrong_result_is_shown_with_its_first_element() -> None:
    text = problem(changed("(factor * before);", "(factor * before) + ((k == 3) ? 1.0f : 0.0f);"))
    assert " output 0[3] is " in text or ", 3] is " in text
    assert "; the reference gives " in text


def test_more_scratch_than_declared() -> None:
    assert "it writes byte 0 of scratch, which has 0" in problem(with_scratch("4 * t - 4"))


def test_an_overlap_that_is_not_safe() -> None:
    text = problem(smooth_kernel(overlaps={(0, 0): 4}))
    assert "output 0 4 bytes after input 0 as its overlaps allow" in text
    text = problem(changed("before = now;", "before = x[(row * t) + k];", overlaps={(0, 0): 0}))  # read once more
    assert "output 0 0 bytes after input 0 as its overlaps allow" in text


def test_more_stack_than_declared() -> None:
    fills = "volatile float s[64]; for (int32_t k = 0; k < 64; k++) { s[k] = x[0]; } "
    text = problem(changed(FIRST, fills + FIRST.replace("x[", "0.0f * s[3] + x["), stack=8))
    assert text.startswith("it declares 8 bytes of stack and uses ") and int(text.split()[-1]) >= 256


ASSEMBLY = """
    .syntax unified
    .thumb
    .section .text.smooth_f32, "ax"
    .global smooth_f32
    .type smooth_f32, %function
smooth_f32:
    push {r4, r5, lr}
    mul r2, r2, r3
1:  ldr r4, [r0], #4
    str r4, [r1], #4
    subs r2, r2, #1
    bne 1b
    pop {r4, r5, pc}
    .size smooth_f32, . - smooth_f32
"""


def assembly(source: str, stack: int) -> pl.Kernel:
    return smooth_kernel(
        source=source, op="", reference=lambda x: x + 0.0, parameters={}, needs=frozenset({"thumb2", "fpu32"}),
        prototype="void smooth_f32(const float *x, float *y, int32_t n, int32_t t)", finite=False, stack=stack,
    )


def test_assembly_is_held_to_its_stack_and_registers() -> None:
    assert check(assembly(ASSEMBLY, 12)).stack == 12
    assert problem(assembly(ASSEMBLY, 8)) == "it declares 8 bytes of stack and uses 12"
    keeps = ASSEMBLY.replace("push {r4, r5, lr}", "push {r5, r6, lr}").replace("pop {r4, r5, pc}", "pop {r5, r6, pc}")
    assert problem(assembly(keeps, 12)) == "it changes r4 and does not put back what was in there"
    floats = ASSEMBLY.replace("1:  ldr", "vmov s20, r3\n1:  ldr")
    assert problem(assembly(floats, 12)) == "it changes one of s16 to s31 and does not put back what was in there"
    rounds = ASSEMBLY.replace("1:  ldr", "vmrs r4, fpscr\norr r4, r4, #0x400000\nvmsr fpscr, r4\n1:  ldr")
    assert problem(assembly(rounds, 12)).startswith("it changes how floats are rounded ")


# ---- an adversary -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "new", "told"), [
    (FIRST, FIRST + " y[n * t] = 0.0f;", "it writes byte "),
    (FIRST, FIRST + " ((uint8_t *)y)[n * t * 4] = 77;", "of output 0, which has "),
    (FIRST, FIRST + " y[-1] = 0.0f;", "bytes before output 0"),
    (FIRST, "((float *)x)[row * t] = 1.0f; y[row * t] = x[row * t];", "of input 0"),
    (FIRST, "y[row * t] += x[row * t];", ""),
    (FIRST, "y[row * t] = x[row * t] + (0.0f * x[(n * t) + 1]);", ""),
    ("for (int32_t row", "static int32_t calls; calls++; if (calls > 100) { factor += 1.0f; }\nfor (int32_t row",
     " bytes in static variables"),
    (FIRST, "y[row * t] = (t == 1) ? 0.0f : x[row * t];", "t=1, "),
    (FIRST, "for (;;) { }", "crashed"),
    (FIRST, "y[row * t] = *(volatile const float *)(x + 0x10000000);", "crashed"),
], ids=[
    "past-the-end", "one-byte", "before", "input", "old-output", "beyond-input", "state", "size-1", "hangs", "faults",
])
def test_an_adversary(old: str, new: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilotlight.check.run._TIMEOUT", 3.0)
    assert told in problem(changed(old, new))


def test_scratch_that_is_read_before_it_is_written() -> None:
    text = problem(with_scratch("4 * t", "if (k > 0) { s[k] = x[(row * t) + k]; }"))
    assert "output 0" in text or "holds other bytes" in text
    text = problem(with_scratch("4 * t + 4", "s[k] = x[(row * t) + k]; if (s[t] > 1e30f) { s[k] = 0.0f; }"))
    assert "output 0" in text or "holds other bytes" in text


def test_nan_is_not_lost_unless_that_is_declared() -> None:
    clean = "if (x[row * t] != x[row * t]) { y[row * t] = 0.0f; } else { y[row * t] = x[row * t]; }"
    assert "and NaN: output 0" in problem(changed(FIRST, clean, finite=False))
    assert check(changed(FIRST, clean), "host").calls


def test_a_kernel_that_differs_on_the_board() -> None:
    differs = FIRST + "\n#if defined(__arm__)\n        y[row * t] = 0.0f;\n#endif\n"
    with pytest.raises(pl.KernelError) as error:
        check(changed(FIRST, differs))
    assert error.value.where is not None and error.value.where.endswith(f"board {BOARD}")


def test_a_kernel_that_depends_on_alignment() -> None:
    wide = "y[row * t] = x[row * t]; if ((((uintptr_t)x) & 15u) != 0u) { y[row * t] = 0.0f; }"
    assert "aligned to 4 bytes" in problem(changed(FIRST, wide), "host")


# ---- errors of a declaration --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changes", "told"), [
    ({"prototype": "int smooth_f32(const float *x)"}, "expected a C function that returns nothing"),
    ({"prototype": "void smooth_f32(float *x, float *y, int32_t n, int32_t t, float factor)"},
     "its prototype takes (float *, float *, int32_t, int32_t, float); "
     "it is called with (const float *, float *, int32_t, int32_t, float)"),
    ({"takes": "float32[t]"}, "takes is 'float32[t]'; expected a tuple of tensors"),
    ({"takes": ("float33[t]",)}, "takes: 'float33[t]' is no tensor"),
    ({"takes": ("float32[t + 1]",)}, "has the size 't + 1'; expected a name or a number"),
    ({"gives": ("float32[..., u]",)}, "the expression 'u' has no value"),
    ({"scratch": "4 * __import__('os')"}, "only whole numbers, sizes"),
    ({"op": "nothing"}, "it is for the operator 'nothing'; expected namespace::name"),
    ({"op": "userkernels::nothing"}, "there is no operator userkernels::nothing"),
    ({"op": "aten::relu"}, "aten::relu is PyTorch's own operator"),
    ({"op": ""}, "it has neither an operator nor a reference"),
    ({"parameters": {}}, "parameters has values of nothing; the operator's arguments that are no tensors are: factor"),
    ({"source": "  "}, "its source is empty"),
    ({"source": Path("nowhere.c")}, "cannot be read: No such file"),
    ({"source": ASSEMBLY}, "it is assembly and does not say how much stack it uses"),
    ({"overlaps": {(1, 0): 0}}, "overlaps names input 1 and output 0, which it does not have"),
    ({"sizes": {"u": range(4)}}, "sizes are given for 'u', which takes does not name"),
    ({"name": "a b"}, "a kernel is called 'a b'"),
    ({"takes": ("float16[..., t]",)}, "takes: 'float16[..., t]' is no tensor"),
    ({"takes": ("float32[..., factor]",), "gives": ("float32[..., factor]",), "cost": 0},
     "'factor' is an argument of userkernels::smooth and a size"),
    ({"scratch": "4 - t"}, "its scratch '4 - t' is -60 bytes"),
    ({"sizes": {"t": ()}}, "sizes allows nothing for 't'"),
    ({"sizes": {"t": 3}}, "its declaration cannot be read: 'int' object is not iterable"),
    ({"overlaps": {0: 0}}, "its declaration cannot be read"),
    ({"needs": "dsp"}, "needs is 'dsp'; expected a set of words"),
    ({"stack": "much"}, "stack is 'much'; expected a number of bytes"),
    ({"source": None}, "its declaration cannot be read"),
])
def test_a_bad_declaration_is_one_sentence(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(pl.PilotlightError) as error:
        pl.add_kernel(smooth_kernel(**changes))
    assert told in error.value.message and "\n" not in error.value.message and error.value.kind == "bad-kernel"


@pytest.mark.parametrize(("make", "told"), [
    (lambda: changed(FIRST, "y[row * t] = x[row * t]"), "it does not compile: smooth_f32.c:"),
    (lambda: changed("smooth_f32(", "other_f32("), "its source has no function smooth_f32, as its prototype says"),
    (lambda: changed(FIRST, "extern float sine(float); y[row * t] = sine(x[row * t]);"),
     "it calls sine, which is nowhere"),
    (lambda: smooth_kernel(reference=lambda x, factor: x[..., :1]), "its reference gives float32["),
    (lambda: smooth_kernel(reference=lambda x, factor: x.double()), "its reference gives float64["),
    (lambda: smooth_kernel(reference=lambda x, factor: 1 / 0), "its reference failed with "),
    (lambda: smooth_kernel(when=lambda batch, t, factor: False), "no sizes were found that it takes"),
    (lambda: smooth_kernel(when=lambda t: True), "its condition failed: TypeError: "),
    (lambda: smooth_kernel(draw=lambda random, batch, t: [np.zeros(3)]), "its draw gives float64[3]"),
    (lambda: changed(FIRST, FIRST + " if (t > 1) { smooth_f32(x, y, 1, t - 1, factor); }"), "recursion"),
], ids=["syntax", "symbol", "library", "shape", "dtype", "reference", "when", "condition", "draw", "recursion"])
def test_a_bad_kernel_is_one_sentence(make: Callable[[], pl.Kernel], told: str) -> None:
    with pytest.raises(pl.PilotlightError) as error:
        check(make())
    assert told in error.value.message and "\n" not in error.value.message and error.value.kind == "bad-kernel"


def test_a_model_never_uses_a_kernel_that_fails() -> None:
    pl.add_kernel(changed(FIRST, "y[row * t] = 0.0f;"))
    graph = pl.capture(Forward(lambda v: smooth(v, 0.5)), (torch.randn(4, 6),), "net")
    with pytest.raises(pl.KernelError, match="the reference gives"):
        pl.compile(graph, BOARD)


def test_a_wrong_result_for_the_models_own_sizes_alone() -> None:
    """No generated case has 1,000 elements: the model's own case does."""
    pl.add_kernel(changed(FIRST, "y[row * t] = (t == 1000) ? 0.0f : x[row * t];"))
    graph = pl.capture(Forward(lambda v: smooth(v, 0.5)), (torch.randn(1000),), "net")
    with pytest.raises(pl.KernelError, match="t=1000"):
        pl.compile(graph, "host")


def test_an_operator_that_no_engine_takes_is_one_sentence() -> None:
    net, x = Forward(lambda v: smooth(v, 0.5)), torch.randn(4, 6)

    def told() -> str:
        with pytest.raises(pl.PilotlightError) as error:
            pl.compile(pl.capture(net, (x,), "net"), BOARD)
        assert "\n" not in error.value.message
        return error.value.message

    pl.add_kernel(smooth_kernel(takes=("float32[t]",), gives=("float32[t]",), cost="t", prototype=(
        "void smooth_f32(const float *x, float *y, int32_t t, float factor)")))
    assert "no kernel of userkernels::smooth takes float32[4, 6] with factor=0.5 (smooth_f32 takes float32[t])" \
        in told()
    pl.add_kernel(smooth_kernel(sizes={"t": range(8, 65, 8)}))
    assert "smooth_f32 takes float32[..., t] where t in [8, 16, 24, 32, 40, 48, 56, 64]" in told()
    pl.add_kernel(smooth_kernel(needs=frozenset({"mve"})))
    assert "no kernel of userkernels::smooth runs on this core: smooth_f32 needs mve" in told()
    withdraw_kernel("smooth_f32")
    assert "no kernel of userkernels::smooth takes float32[4, 6]" in told()


def test_an_operator_that_changes_its_arguments_is_refused() -> None:
    @torch.library.custom_op("userkernels::fill", mutates_args=("x",))
    def fill(x: torch.Tensor) -> None:
        x.zero_()

    with pytest.raises(pl.PilotlightError, match="userkernels::fill changes its arguments"):
        pl.add_kernel(smooth_kernel(op="userkernels::fill"))


TOTAL = """
void total_f32(const float *x, float *y, int32_t n, int32_t t)
{
    for (int32_t row = 0; row < n; row++) {
        float sum = START;
        for (int32_t k = 0; k < t; k++) {
            sum += x[(row * t) + k];
        }
        y[row] = sum;
    }
}
"""


def test_empty_rows_are_refused_or_checked() -> None:
    def total(start: str, **changes: Any) -> pl.Kernel:
        return pl.Kernel(
            name="total_f32", reference=lambda x: x.sum(-1), takes=("float32[n, t]",), gives=("float32[n]",),
            prototype="void total_f32(const float *x, float *y, int32_t n, int32_t t)", finite=True, rtol=1e-4,
            source=TOTAL.replace("START", start), **changes,
        )

    without = pl.add_kernel(total("0.0f"))
    assert without.bind([Value("x", FLOAT32, (3, 0))], {}) is None
    start = "(t == 0) ? 1.0f : 0.0f"
    assert check(total(start), "host").calls  # nothing says that it takes empty rows
    with pytest.raises(pl.KernelError, match=r"n=\d+, t=0 and .* output 0\[0\] is 1; the reference gives 0"):
        check(total(start, sizes={"t": range(4)}), "host")


def test_a_faster_kernel_that_is_taken_late_is_checked_too() -> None:
    """It costs flash, so it is chosen after a first plan was made."""
    pl.add_kernel(smooth_kernel(cost=100_000))
    pl.add_kernel(smooth_kernel(
        name="fast_f32", cost=1, flash=64, source=SOURCE.replace("smooth_f32", "fast_f32").replace(FIRST, ""),
        prototype="void fast_f32(const float *x, float *y, int32_t n, int32_t t, float factor)",
    ))
    graph = pl.capture(Forward(lambda v: smooth(v, 0.5)), (torch.randn(4, 6),), "net")
    with pytest.raises(pl.KernelError, match="kernel fast_f32: "):
        pl.compile(graph, BOARD)


# ---- several kernels, int8, patterns ------------------------------------------------------------------------------


def test_the_cheaper_kernel_is_taken() -> None:
    slow = smooth_kernel(name="slow_f32", cost="20 * batch * t",
                         prototype="void slow_f32(const float *x, float *y, int32_t n, int32_t t, float factor)",
                         source=SOURCE.replace("smooth_f32", "slow_f32"))
    pl.add_kernel(slow)
    pl.add_kernel(smooth_kernel())
    build = pl.compile(pl.capture(Forward(lambda v: smooth(v, 0.5)), (torch.randn(4, 6),), "net"), BOARD)
    (choice,) = build.selection.values()
    assert choice.candidate.name == "smooth_f32" and {c.name for c in choice.offered} == {"slow_f32", "smooth_f32"}


INT8 = """
static int32_t pl_round(float v) { return (int32_t)((v < 0.0f) ? (v - 0.5f) : (v + 0.5f)); }
void double_s8(const int8_t *x, int8_t *y, int32_t n, float sx, int32_t zx, float sy, int32_t zy)
{
    const float ratio = (2.0f * sx) / sy;
    for (int32_t i = 0; i < n; i++) {
        int32_t v = pl_round(ratio * (float)(x[i] - zx)) + zy;
        v = (v < -128) ? -128 : ((v > 127) ? 127 : v);
        y[i] = (int8_t)v;
    }
}
"""


@torch.library.custom_op("userkernels::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@double.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def double_reference(x: torch.Tensor, quants: tuple[Quant, ...]) -> np.ndarray:
    sx, sy = (np.float32(q.scale) for q in quants)
    ratio = np.float32(2) * sx / sy
    v = ratio * (x.numpy().astype(np.int32) - quants[0].zero_point).astype(np.float32)
    rounded = np.trunc(np.where(v < 0, v - np.float32(0.5), v + np.float32(0.5))).astype(np.int32)
    return np.clip(rounded + quants[1].zero_point, -128, 127).astype(np.int8)


def test_an_int8_kernel_computes_in_an_int8_model() -> None:
    kernel = pl.add_kernel(pl.Kernel(
        name="double_s8", op="userkernels::double", takes=("int8[...]",), gives=("int8[...]",), source=INT8,
        prototype="void double_s8(const int8_t *x, int8_t *y, int32_t n, float sx, int32_t zx, float sy, int32_t zy)",
        reference=double_reference, overlaps={(0, 0): 0},
    ))
    pl.add_kernel(pl.Kernel(
        name="double_f32", op="userkernels::double", takes=("float32[...]",), gives=("float32[...]",),
        prototype="void double_f32(const float *x, float *y, int32_t n)", overlaps={(0, 0): 0},
        source="void double_f32(const float *x, float *y, int32_t n)\n"
               "{\n    for (int32_t i = 0; i < n; i++) {\n        y[i] = 2.0f * x[i];\n    }\n}\n",
    ))
    net = nn.Sequential(nn.Linear(8, 6), Forward(lambda v: double(v)), nn.Linear(6, 3)).eval()
    samples = [torch.randn(2, 8) for _ in range(8)]
    quantized = pl.quantize(pl.capture(net, (samples[0],), "net"), samples)
    build = pl.compile(quantized, BOARD)
    assert not build.lowered.fallbacks and "double_s8(" in str(build.module.files["net.c"])
    assert build.session().match
    withdraw_kernel(kernel.name)
    build = pl.compile(pl.quantize(pl.capture(net, (samples[0],), "net"), samples), "host")
    (left,) = build.lowered.fallbacks
    assert left.node.op == "userkernels.double" and "double_f32(" in str(build.module.files["net.c"])
    assert build.session().match


def gate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.clamp(x, 0.0, 6.0) * y + 1.0


def test_what_a_reference_does_is_found_in_a_model() -> None:
    pl.add_kernel(pl.Kernel(
        name="gate_f32", takes=("float32[n, t]", "float32[n, t]"), gives=("float32[n, t]",), reference=gate,
        prototype="void gate_f32(const float *x, const float *y, float *z, int32_t n, int32_t t)", finite=True,
        sizes={"t": range(4, 200, 4)}, overlaps={(0, 0): 0, (1, 0): 0},
        source="void gate_f32(const float *x, const float *y, float *z, int32_t n, int32_t t)\n"
               "{\n    for (int32_t i = 0; i < (n * t); i++) {\n"
               "        const float v = (x[i] < 0.0f) ? 0.0f : ((x[i] > 6.0f) ? 6.0f : x[i]);\n"
               "        z[i] = (v * y[i]) + 1.0f;\n    }\n}\n",
    ))

    class Net(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
            one = gate(a * 2, b)
            other = torch.clamp(one, 0.0, 5.0) * b + 1.0  # another constant
            shared = torch.clamp(b, 0.0, 6.0)
            return one, other, shared * a + 1.0, shared

    inputs = (torch.randn(3, 8), torch.randn(3, 8))
    graph = pl.capture(Net(), inputs, "net")
    assert [n.op for n in graph.nodes].count("kernel.gate_f32") == 1
    build = pl.compile(graph, BOARD)
    assert "gate_f32(" in str(build.module.files["net.c"]) and build.session().match
    narrow = pl.capture(Net(), (torch.randn(3, 7), torch.randn(3, 7)), "net")
    assert "kernel.gate_f32" not in {n.op for n in narrow.nodes}
