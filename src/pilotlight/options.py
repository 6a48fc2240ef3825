"""What a user may choose about a build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TOOLCHAINS = ("gcc", "zig")
EMULATORS = ("qemu", "unicorn")
CMSIS_NN = "cmsis-nn"


@dataclass(frozen=True)
class Options:
    """How a model is compiled, where its bytes go, and how many they may be."""

    optimize: str = "speed"  # or "size" or "ram"
    keep_inputs: bool = False
    float_io: bool = False  # quantized models: float inputs and outputs in the C API
    torch_layout: bool = False  # inputs and outputs in PyTorch's order instead of channels last
    weights_in: str | None = None
    arena_in: str | None = None
    max_ram: int | None = None
    max_flash: int | None = None
    tuned: tuple[Path | str, ...] = ()  # files of measurements from which kernels are chosen
    toolchain: str | None = None  # one of TOOLCHAINS; default: GCC where it is installed
    emulator: str | None = None  # one of EMULATORS; default: QEMU where it is installed
    backends: tuple[str, ...] = ()  # engines that compute what they take of the model, the first one first
    npu: str | None = None  # an Ethos-U, such as ethos-u55-128: the last of these engines
    cmsis_nn: Path | str | None = None  # a copy of CMSIS-NN, whose kernels compute what they can

    @property
    def engines(self) -> tuple[str, ...]:
        """Names of all backends, in the order in which they choose."""
        return (*self.backends, *([self.npu] if self.npu else []))

    @property
    def has_budget(self) -> bool:
        return self.max_ram is not None or self.max_flash is not None
