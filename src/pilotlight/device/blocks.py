"""Counting for an emulator in this process: C that Unicorn calls at each block of code (csrc/device/count_blocks.c)."""

from __future__ import annotations

import ctypes
from pathlib import Path

import unicorn
from unicorn.unicorn_py3.unicorn import uclib

from pilotlight.device.plugin import build_block_counter


class BlockCounter:
    """Counts the runs of a model into a file."""

    def __init__(self, uc: unicorn.Uc, code: bytes, base: int, thumb: bool, labels: Path, out: Path):
        library = ctypes.CDLL(str(build_block_counter()))
        library.pl_blocks_open.restype = ctypes.c_void_p
        library.pl_blocks_open.argtypes = (
            ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int
        )
        library.pl_blocks_close.argtypes = (ctypes.c_void_p,)
        self._library = library
        self._code = ctypes.create_string_buffer(code, len(code))  # C keeps a pointer to it
        self._counter = library.pl_blocks_open(
            str(labels).encode(), str(out).encode(), self._code, base, len(code), thumb
        )
        if not self._counter:
            raise OSError(f"{out.parent} cannot be written")
        handle = ctypes.c_size_t()
        uclib.uc_hook_add(
            uc._uch, ctypes.byref(handle), unicorn.UC_HOOK_BLOCK, ctypes.cast(library.pl_blocks_enter, ctypes.c_void_p),
            ctypes.c_void_p(self._counter), ctypes.c_uint64(1), ctypes.c_uint64(0),
        )

    def close(self) -> None:
        """The counts are complete then; the emulator must not go on after it."""
        self._library.pl_blocks_close(self._counter)
