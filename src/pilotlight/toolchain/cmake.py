"""A toolchain file for CMake: the compiler and the flags of a board."""

from __future__ import annotations

from pilotlight.boards import Board
from pilotlight.toolchain.find import compiler

_PROCESSORS = {"arm": "arm", "riscv": "riscv32", "xtensa": "xtensa"}


def toolchain_files(board: Board) -> dict[str, str]:
    """Name and text of the file; none for this computer."""
    if board.is_host:
        return {}
    gcc, flags = compiler(board), " ".join(board.flags)
    processor = next((p for start, p in _PROCESSORS.items() if board.toolchain.startswith(start)), board.cpu)
    return {f"toolchain-{board.name}.cmake": f"""# {board.title}: cmake -DCMAKE_TOOLCHAIN_FILE=<this file>
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR {processor})
set(CMAKE_C_COMPILER {gcc})
set(CMAKE_ASM_COMPILER {gcc})
set(CMAKE_C_FLAGS_INIT "{flags}")
set(CMAKE_ASM_FLAGS_INIT "{flags}")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a program needs the linker script of your project
"""}
