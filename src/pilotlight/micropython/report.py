"""What a firmware's bytes are for: the sections the linker kept, by operator, by Python module, and the rest.

Which operator needs a section follows from the references between sections in the object files: what only one operator
reaches would go with it, what several reach is shared, what the Tensor type itself reaches is always there. Operators
that are written in Python have their share of the packed stream, which counts as Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from pilotlight.micropython.pack import shares
from pilotlight.micropython.select import TorchSelection, modules

Section = tuple[str, str]  # object file inside the build folder, name of the section
_LINE = re.compile(r"^ (\.\S+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+) (\S+\.o)$", re.MULTILINE)
_BLOCKS = "torch/generated/packed.o"
_TABLES = (".rodata.pt_kernels", ".rodata.pt_rows")  # refer to every kernel


def kept_sections(map_file: Path, build: Path) -> dict[Section, int]:
    """Bytes in flash of every section that was linked."""
    text = map_file.read_text(encoding="utf-8", errors="replace")
    text = text[text.index("Linker script and memory map") :]
    found: dict[Section, int] = {}
    for name, size, path in _LINE.findall(text):
        if name.startswith((".text", ".rodata", ".data", ".srodata", ".sdata")) and path.startswith(str(build)):
            key = (str(Path(path).relative_to(build)), name)
            found[key] = found.get(key, 0) + int(size, 16)
    return {key: size for key, size in found.items() if size}


@dataclass
class References:
    """Where symbols are, and which sections refer to which."""

    places: dict[str, Section] = field(default_factory=dict)
    targets: dict[Section, set[Section]] = field(default_factory=dict)

    def reach(self, starts: Iterable[Section]) -> set[Section]:
        seen: set[Section] = set()
        waiting = list(starts)
        while waiting:
            section = waiting.pop()
            if section not in seen:
                seen.add(section)
                waiting += [] if section[1] in _TABLES else self.targets.get(section, ())
        return seen


def read_references(build: Path) -> References:
    """From the relocations of the module's object files."""
    found = References()
    open_ends: list[tuple[Section, str]] = []
    for path in sorted((build / "torch").rglob("*.o")):
        name = str(path.relative_to(build))
        with path.open("rb") as file:
            elf = ELFFile(file)
            symbols = elf.get_section_by_name(".symtab")
            assert isinstance(symbols, SymbolTableSection)
            for symbol in symbols.iter_symbols():
                at = symbol["st_shndx"]
                if isinstance(at, int) and symbol["st_info"]["bind"] == "STB_GLOBAL":
                    found.places[symbol.name] = (name, elf.get_section(at).name)
            for section in elf.iter_sections():
                if not isinstance(section, RelocationSection):
                    continue
                source = (name, elf.get_section(section["sh_info"]).name)
                for relocation in section.iter_relocations():
                    symbol = symbols.get_symbol(relocation["r_info_sym"])
                    at = symbol["st_shndx"]
                    if isinstance(at, int):
                        found.targets.setdefault(source, set()).add((name, elf.get_section(at).name))
                    else:
                        open_ends.append((source, symbol.name))
    for source, wanted in open_ends:
        if wanted in found.places:
            found.targets.setdefault(source, set()).add(found.places[wanted])
    return found


def flash_report(build: Path, map_file: Path, selection: TorchSelection) -> dict[str, Any]:
    """Bytes of flash by what uses them."""
    kept = kept_sections(map_file, build)
    references = read_references(build)
    needs: dict[str, set[Section]] = {}
    for overload, kernel in selection.kernels().items():
        names = [kernel.function, *([kernel.data] if isinstance(kernel.data, str) else [])]
        starts = [references.places[name] for name in names if name in references.places]
        needs.setdefault(overload.partition(".")[0], set()).update(references.reach(starts))
    always = references.reach([references.places["pt_module"]])
    users: dict[Section, int] = {}
    for sections in needs.values():
        for section in sections - always:
            users[section] = users.get(section, 0) + 1
    operators = [
        {
            "operator": name,
            "alone": sum(kept.get(s, 0) for s in sections - always if users[s] == 1),
            "shared": sum(kept.get(s, 0) for s in sections - always if users[s] > 1),
        }
        for name, sections in sorted(needs.items())
    ]
    operators += python_operators(selection)
    ours = {s: size for s, size in kept.items() if s[0].startswith("torch/") and s[0] != _BLOCKS}
    tables = sum(size for (file, _), size in ours.items() if file == "torch/generated/tables.o")
    in_operators = sum(size for section, size in ours.items() if section in users)
    python = python_sizes(kept)
    total = sum(ours.values())
    return {
        "operators": operators,
        "python": python,
        "sources": file_sizes(ours),
        "totals": {
            "operators": in_operators, "tables": tables, "tensor": total - in_operators - tables,
            "python": sum(python.values()), "module": total + sum(python.values()), "all": sum(kept.values()),
        },
    }


def python_operators(selection: TorchSelection) -> list[dict[str, Any]]:
    """Operators that are written in Python, by their bytes of the packed stream."""
    units = selection.units()
    sizes = shares(units)
    helpers = {unit.name: unit for unit in units if not unit.head}

    def below(names: Iterable[str]) -> set[str]:
        found = set(names) & set(helpers)
        return found.union(*(below(helpers[name].needs) for name in found))

    return [{"operator": unit.name, "alone": sizes[unit.name], "shared": sum(sizes[n] for n in below(unit.needs))}
            for unit in units if unit.head]


def file_sizes(sections: Mapping[Section, int]) -> dict[str, int]:
    """Bytes by source file, largest first."""
    found: dict[str, int] = {}
    for (file, _), size in sections.items():
        found[Path(file).stem] = found.get(Path(file).stem, 0) + size
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def python_sizes(kept: Mapping[Section, int]) -> dict[str, int]:
    """Bytes by frozen module; packed code and shared names get a line each."""
    by_name = {name.replace(".", "_"): name for name in modules()}
    packages = {f"{name}___init__": full for name, full in by_name.items()}
    prefixes = sorted((by_name | packages).items(), key=lambda item: -len(item[0]))
    found: dict[str, int] = {}
    for (file, section), size in kept.items():
        if file == "frozen_content.o":
            own = re.sub(r"^\.rodata\.(fun_data|raw_code|proto_fun|children|const_obj|const_qstr_table_data|"
                         r"const_obj_table_data|frozen_module|mp_frozen)_?", "", section)
            module = next((full for prefix, full in prefixes if own.startswith(prefix)), "(names)")
            found[module] = found.get(module, 0) + size
        elif file == _BLOCKS:
            found["(packed)"] = found.get("(packed)", 0) + size
    return dict(sorted(found.items(), key=lambda item: -item[1]))
