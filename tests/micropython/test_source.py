"""Where MicroPython's source comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotlight.errors import PilotlightError
from pilotlight.micropython import cache, source

DEB822 = """\
Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


def apt_folder(tmp_path: Path, **files: str) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    for name, text in files.items():
        (tmp_path / name.replace("__", "/").replace("_", ".")).write_text(text)
    return tmp_path


def test_sources_in_the_new_format(tmp_path):
    name, text = source.debian_sources(apt_folder(tmp_path, **{"sources.list.d__debian_sources": DEB822}))
    assert name.endswith(".sources")
    assert text.splitlines() == [
        "Types: deb-src", "URIs: http://mirror.example/debian", "Suites: trixie", "Components: main",
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
    ]


def test_sources_in_the_old_format(tmp_path):
    lines = (
        "# deb http://other.example/debian sid main\n"
        "deb http://mirror.example/debian-security bookworm-security main\n"
        "deb [signed-by=/usr/share/keyrings/k.gpg] http://mirror.example/debian/ bookworm main contrib\n"
    )
    name, text = source.debian_sources(apt_folder(tmp_path, sources_list=lines))
    assert name.endswith(".list")
    assert text == "deb-src [signed-by=/usr/share/keyrings/k.gpg] http://mirror.example/debian/ trixie main\n"


def test_no_debian(tmp_path):
    folder = apt_folder(tmp_path, sources_list="deb http://mirror.example/ubuntu noble main\n")
    with pytest.raises(PilotlightError, match="name no Debian archive") as error:
        source.debian_sources(folder)
    assert error.value.hint is not None and "MICROPY_DIR" in error.value.hint


def test_a_folder_without_micropython(tmp_path, monkeypatch):
    monkeypatch.setenv("MICROPY_DIR", str(tmp_path))
    with pytest.raises(PilotlightError, match="no MicroPython source"):
        source.micropython_source()


def test_no_network(tmp_path, monkeypatch):
    """One sentence that says what to do, and nothing is left behind that looks like a source."""
    monkeypatch.delenv("MICROPY_DIR", raising=False)
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path))
    nowhere = f"deb-src [trusted=yes] file:{tmp_path}/nothing trixie main\n"
    monkeypatch.setattr(source, "debian_sources", lambda types: ("debian.list", nowhere))
    with pytest.raises(PilotlightError, match="could not be fetched") as error:
        source.micropython_source()
    assert "MICROPY_DIR" in str(error.value)
    assert not (cache.folder() / "source").exists()


def test_a_package_without_network(tmp_path, monkeypatch):
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path))
    nowhere = f"deb [trusted=yes] file:{tmp_path}/nothing trixie main\n"
    monkeypatch.setattr(source, "debian_sources", lambda types: ("debian.list", nowhere))
    with pytest.raises(PilotlightError, match="Debian's package some-source could not be fetched") as error:
        source.source_package("some-source", "usr/src/some")
    assert error.value.hint is not None and "install some-source" in error.value.hint
    assert not (cache.folder() / "package-some-source").exists()


def test_a_package_that_is_installed(tmp_path):
    assert source.source_package("some-source", str(tmp_path).lstrip("/")) == tmp_path


def test_a_tool_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("MICROPY_DIR", raising=False)
    monkeypatch.setenv("PILOTLIGHT_CACHE", str(tmp_path))
    monkeypatch.setattr(source.shutil, "which", lambda tool: None if tool == "dpkg-source" else tool)
    with pytest.raises(PilotlightError, match="dpkg-source was not found") as error:
        source.micropython_source()
    assert error.value.hint is not None and "dpkg-dev" in error.value.hint
