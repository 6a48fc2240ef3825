"""Which registers an instruction reads and writes, from its text: Thumb and RV32, as objdump prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from pilotlight.toolchain.disassembly import MachineInstruction

_TARGET = re.compile(r"\b[0-9a-f]+ <[^>]*>")
_PART = re.compile(r"(?:\[[^\]]*\]!?|\{[^}]*\}|\([^)]*\)|[^,\[\{\(])+")
_REGISTER = re.compile(r"\b(?:zero|ra|gp|tp|sl|fp|ip|sp|lr|pc|r\d+|s\d+|d\d+|q\d|t\d|a\d|f[tsa]\d+)\b")
_RANGE = re.compile(r"\b([rsdq])(\d+)-\1(\d+)\b")
_WRITTEN_BACK = re.compile(r"\[(\w+)[^\]]*\]!|\[(\w+)\], |^(\w+)!")
_SHIFTED = re.compile(r"\b(\w+), (?:lsl|lsr|asr|ror) #")
_BRACKETS = re.compile(r"\[[^\]]*\]|\(\w+\)")
_CONDITION = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al"
_NOTHING_WRITTEN = re.compile(
    rf"v?(str|stm|push)|vst[24]|(s[bhw]|fsw)$|cmp|cmn|tst|teq|vcmp|vpt|vmsr|msr|it[te]*$|nop|"
    rf"b(l|x|lx)?({_CONDITION})?(\.[nw])?$|cbn?z|tb[bh]|(b|j)\w*z$|b(eq|ne|lt|ge)u?$|j(r|al|alr)?$|ret$"
)
_STORES = re.compile(r"v?(str|stm|push)|vst[24]|(s[bhw]|fsw)$")
_LISTS = re.compile(r"v?(ldm|pop)|vld[24]")
_TWO_RESULTS = re.compile(r"ldrd|[us]ml[as]?ld?|[us]mull|umaal|vml\w*aldav|vaddlv|asrl|lsll|lsrl")
_ADDS_TO_RESULT = re.compile(
    r"vfn?m[as]|vn?ml[as]|vcmla|vqr?dml|vr?ml[as]l?davh?ax?\b|vr?mlal?va?\b|vaddl?va|vabav|[us]ml[as]ld?|umaal|movt|bfi|v\w*sli|vsri"
)
_ADDS_LAST = re.compile(r"ml[as]$|sml[as][bdtw]|smml[as]|usada8|[us]xta[bh]")
_OVERWRITES = re.compile(
    r"mov|mvn|ldr|[us]xt|rev|rbit|clz|neg|adr|v(mov|mvn|cvt|abs|neg|sqrt|rint|ldr|dup|rev|cl[sz]|qabs|qneg|mrs)|mrs|"
    r"l[bhw]u?$|flw|li$|lui|auipc|la$|mv$|not$|s[en]qz|s[lg]tz|sext|zext|csr"
)


@dataclass(frozen=True)
class Access:
    """address: read to form an address. shifted: read through a shifter. sums: read as the sum that products are added
    to. stored: written to memory. updated: a base that is written back. Each is part of `reads`, and `updated` also of
    `writes`."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    address: frozenset[str] = frozenset()
    shifted: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    updated: frozenset[str] = frozenset()


def untargeted(instruction: MachineInstruction) -> str:
    """Its operands without the address that it names."""
    return _TARGET.sub("", instruction.operands)


def access(instruction: MachineInstruction) -> Access:
    return _access(instruction.mnemonic, instruction.operands)


@lru_cache(maxsize=1 << 14)
def _access(name: str, text: str) -> Access:
    operands = _TARGET.sub("", text)
    parts = [part.strip() for part in _PART.findall(operands) if part.strip()]
    brackets = "".join(_BRACKETS.findall(operands))
    address = _names(brackets)
    updated = frozenset(part for match in _WRITTEN_BACK.finditer(operands) for part in match.groups() if part)
    if _LISTS.match(name):
        listed = _names(operands[operands.find("{") :])
        base = _names(operands[: operands.find("{")]) | address
        return Access(base, listed | updated, base, updated=updated)
    if _NOTHING_WRITTEN.match(name):
        reads = _names(operands)
        stored = reads - address - updated if _STORES.match(name) else frozenset()
        return Access(reads, updated, address | updated, stored=stored, updated=updated)
    results = 2 if _TWO_RESULTS.match(name) else 1
    writes = frozenset[str]().union(*(_names(part) for part in parts[:results]))
    reads = frozenset[str]().union(*(_names(part) for part in parts[results:]))
    sums = frozenset[str]()
    if _ADDS_TO_RESULT.match(name):
        sums = writes
    elif _ADDS_LAST.match(name) and len(parts) > 3:
        sums = _names(parts[-1])
    elif len(parts) == 2 and not _OVERWRITES.match(name):
        reads |= writes
    shifted = frozenset(_SHIFTED.findall(operands))
    return Access(reads | sums | updated, writes | updated, address, shifted, sums, updated=updated)


def _names(text: str) -> frozenset[str]:
    """Registers in a text; those of 64 and 128 bits are the 32-bit ones that they consist of."""
    text = _RANGE.sub(lambda m: " ".join(f"{m[1]}{k}" for k in range(int(m[2]), int(m[3]) + 1)), text)
    found: set[str] = set()
    for name in _REGISTER.findall(text):
        width = {"d": 2, "q": 4}.get(name[0], 1)
        if width == 1:
            found.add(name)
        else:
            found |= {f"s{width * int(name[1:]) + k}" for k in range(width)}
    return frozenset(found - {"zero", "pc"})
