"""The device server as a project has it: its sources, which come along, and what they must know about the model."""

from __future__ import annotations

from pilotlight.toolchain import ModelFolder
from pilotlight.toolchain.objects import DEVICE_SOURCES
from pilotlight.toolchain.ports import ports_header

SOURCES = ("server.c", "frame.c", "model.c", "steps.c", "window.c")
_HEADERS = (
    "pl_frame.h", "pl_io.h", "pl_model.h", "pl_protocol.h", "pl_server.h", "pl_step.h", "pl_window.h",
)
CONFIG = "pl_config.h"  # the template's; every source starts with it, as not every environment lets one set flags


def server_files(folder: ModelFolder) -> dict[str, str]:
    """All files of the server but its port and pl_config.h."""
    files = {name: (DEVICE_SOURCES / name).read_text(encoding="utf-8") for name in (*SOURCES, *_HEADERS)}
    for name in SOURCES:
        files[name] = f'#include "{CONFIG}"\n\n{files[name]}'
    return {**files, "pl_ports.h": _guarded(ports_header(folder))}


def _guarded(text: str) -> str:
    return f"#ifndef PL_PORTS_H\n#define PL_PORTS_H\n\n{text}\n#endif\n"
