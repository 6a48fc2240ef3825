"""The structs through which C passes arguments to assembly: where their fields are, and C that proves it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

WORD = 4  # bytes of a field: a pointer or an int32_t of a 32-bit core


@dataclass(frozen=True)
class ArgumentStruct:
    """A C struct of words: its fields in order, those of an inner struct as `q.zy`, known by their last name."""

    ctype: str
    fields: tuple[str, ...]

    @cached_property
    def offsets(self) -> dict[str, int]:
        return {field.rpartition(".")[2]: WORD * i for i, field in enumerate(self.fields)}

    def __getitem__(self, name: str) -> int:
        """Bytes from the start of the struct to a field."""
        return self.offsets[name]

    def __len__(self) -> int:
        return len(self.fields)

    def pack(self, values: Mapping[str, int]) -> bytes:
        """The struct as bytes in memory."""
        if set(values) != set(self.offsets):
            raise KeyError(f"{self.ctype} has the fields {', '.join(self.offsets)}")
        return struct.pack(f"<{len(self)}I", *(values[name] & 0xFFFFFFFF for name in self.offsets))

    @property
    def check(self) -> str:
        """C that does not compile where a field is somewhere else."""
        tests = [f"(offsetof({self.ctype}, {field}) == {WORD * i}u)" for i, field in enumerate(self.fields)]
        lines = [" && ".join(tests[at : at + 2]) for at in range(0, len(tests), 2)]
        holds = " &&\n    ".join(lines)
        return f"enum {{ {self.ctype}_is_as_the_assembly_knows_it = (int)1 / ((\n    {holds}) ? 1 : 0) }};\n"


def checks(structs: Iterable[ArgumentStruct]) -> str:
    """The checks of all these structs; for C that is compiled together with the assembly."""
    some = dict.fromkeys(structs)
    if not some:
        return ""
    return "#include <stddef.h>\n" + "".join(struct.check for struct in some)
