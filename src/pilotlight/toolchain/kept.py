"""Objects that were compiled before: a file is compiled again only if something that goes into its object has changed.

What goes in is hashed: the compiler, its flags, the source, and whatever that includes by a name in quotes. Folders are
not part of it, since a model is compiled in a new one each time.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from pilotlight.cache import cache_folder

_NAMED = re.compile(rb'^\s*(?:#\s*include|\.incbin)\s+"([^"]+)"', re.MULTILINE)
_FOLDER, _FIRST = "-iquote", "-include"
_READ_BY_COMPILERS = ("CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "SOURCE_DATE_EPOCH")
_MOST_BYTES = 256 << 20
_LARGEST = 4 << 20
_LOOK_EVERY = 256  # stored objects, after which the oldest make room


class KeptObject:
    """The object of one source, and GCC's list of stack frames, in the cache of this computer."""

    def __init__(self, command: Sequence[str], flags: Sequence[str], source: Path):
        key = _key(command, flags, source)
        self._path = cache_folder() / "objects" / key[:2] / key[2:]

    def restore(self, target: Path, usage: Path) -> bool:
        """Write what is kept, if it is there and whole."""
        try:
            digest, content = _split(self._path.read_bytes(), 32)
            if hashlib.sha256(content).digest() != digest:
                return False
            os.utime(self._path)  # the oldest make room first
        except OSError:
            return False
        size, both = _split(content, 8)
        code, frames = _split(both, int.from_bytes(size, "little"))
        target.write_bytes(code)
        if frames:
            usage.write_bytes(frames)
        return True

    def store(self, target: Path, usage: Path) -> None:
        """Keep it; where that fails, for want of room or of rights, it is compiled again the next time. So is one that
        is large: it holds weights, which are only copied."""
        if target.stat().st_size > _LARGEST:
            return
        code, frames = target.read_bytes(), usage.read_bytes() if usage.exists() else b""
        content = len(code).to_bytes(8, "little") + code + frames
        partial = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(hashlib.sha256(content).digest() + content)
            partial.replace(self._path)
            _make_room(self._path.parent.parent)


def _split(content: bytes, at: int) -> tuple[bytes, bytes]:
    return content[:at], content[at:]


def _key(command: Sequence[str], flags: Sequence[str], source: Path) -> str:
    kept, folders, first = _without_folders(flags)
    parts = [_compiler(command[0]), *map(str.encode, (*command[1:], *kept)), *_environment()]
    for name, digest in _read(source, [source.parent, *folders], first):
        parts += [name.encode(), digest]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _without_folders(flags: Sequence[str]) -> tuple[list[str], list[Path], list[Path]]:
    """The flags that name no path, the folders that are searched, and the files that are read first."""
    kept: list[str] = []
    folders: list[Path] = []
    first: list[Path] = []
    rest = iter(flags)
    for flag in rest:
        if flag == _FOLDER:
            folders.append(Path(next(rest)))
        elif flag == _FIRST:
            first.append(Path(next(rest)))
        else:
            kept.append(flag)
    return kept, folders, first


def _read(source: Path, folders: list[Path], first: list[Path]) -> Iterator[tuple[str, bytes]]:
    """What is compiled: the source and all that it names, each once, whether or not an #if leaves it out; its name
    and a digest."""
    waiting, seen = [source, *first], set()
    while waiting:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        if path.suffix == ".bin":  # weights, which may be large
            with path.open("rb") as weights:
                yield path.name, hashlib.file_digest(weights, "sha256").digest()
            continue
        content = path.read_bytes()
        yield path.name, hashlib.sha256(content).digest()
        for name in map(bytes.decode, _NAMED.findall(content)):
            found = [file for folder in (path.parent, *folders) if (file := folder / name).is_file()]
            waiting += found[:1]


@cache
def _compiler(program: str) -> bytes:
    """A program and the state of its file: another version is another file."""
    state = Path(program).resolve().stat()
    return f"{program} {state.st_size} {state.st_mtime_ns}".encode()


def _environment() -> Iterator[bytes]:
    return (f"{name}={os.environ[name]}".encode() for name in _READ_BY_COMPILERS if name in os.environ)


_stored = 0


def _make_room(folder: Path) -> None:
    """Remove the objects that were not used for longest when there are too many; looked at now and then."""
    global _stored
    _stored += 1
    if _stored % _LOOK_EVERY == 1:
        files = sorted(((state.st_mtime, state.st_size, path) for path in folder.glob("*/*")
                        if (state := path.stat())), reverse=True)
        used = 0
        for _, size, path in files:
            used += size
            if used > _MOST_BYTES:
                path.unlink(missing_ok=True)
