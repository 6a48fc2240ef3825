"""MicroPython's source: a folder that the user names, or Debian's source package, fetched once.

The machine's own package sources give the mirror and the signing key; only the suite differs. The system's package
lists are not changed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from pilotlight.errors import MissingToolError, PilotlightError
from pilotlight.micropython import cache

SUITE = "trixie"  # the first whose MicroPython has what the module uses
_APT = Path("/etc/apt")
_ADVICE = "or point MICROPY_DIR at a folder with MicroPython's source, 1.25 or newer"
_CONFIG = """\
Dir::Etc::sourcelist "{folder}/{sources}";
Dir::Etc::sourceparts "-";
Dir::State "{folder}/state";
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
"""


def micropython_source() -> Path:
    """The folder that has MicroPython's ports/, py/ and tests/ in it."""
    given = os.environ.get("MICROPY_DIR")
    if given:
        path = Path(given).resolve()
        if not (path / "py" / "mkrules.mk").exists():
            raise PilotlightError(
                f"MICROPY_DIR is {given}, where there is no MicroPython source",
                hint="name the folder that has py/ and ports/ in it", kind="micropython-source",
            )
        return path
    kept = cache.folder() / "source"
    if not kept.exists():
        with cache.lock("source"):
            if not kept.exists():
                _fetch(kept)
    return _only_folder(kept)


def _only_folder(path: Path) -> Path:
    return next(p for p in sorted(path.iterdir()) if (p / "py" / "mkrules.mk").exists())


def _fetch(target: Path) -> None:
    for tool, package in (("apt-get", "apt"), ("dpkg-source", "dpkg-dev"), ("make", "make")):
        if shutil.which(tool) is None:
            error = MissingToolError(tool, package, "to fetch MicroPython's source")
            error.hint = f"{error.hint}, {_ADVICE}"
            raise error
    name, text = debian_sources()
    for stopped in target.parent.glob("fetching-*"):  # we hold the lock: nobody is at work there
        shutil.rmtree(stopped, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetching-") as temporary:
        folder = Path(temporary)
        for part in ("state", "lists/partial", "cache/archives/partial", "source"):
            (folder / part).mkdir(parents=True)
        (folder / "status").touch()
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        (folder / "apt.conf").write_text(_CONFIG.format(folder=folder, sources=name), encoding="utf-8", newline="\n")
        log = target.parent / "fetch.log"
        log.unlink(missing_ok=True)
        _apt(folder, log, "update")
        _apt(folder, log, "source", "--only-source", "micropython")
        _only_folder(folder / "source")
        (folder / "source").rename(target)


def _apt(folder: Path, log: Path, *args: str) -> None:
    environment = {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}
    with log.open("ab") as file:
        done = subprocess.run(
            ["apt-get", "-q", *args], cwd=folder / "source", env=environment, stdin=subprocess.DEVNULL, stdout=file,
            stderr=file,
        )
    if done.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = [line for line in lines if re.match("[EW]: |dpkg-source: error", line)]
        raise PilotlightError(
            "MicroPython's source could not be fetched: " + (said[-1].partition(": ")[2] if said else "apt-get failed"),
            where=str(log), hint=f"connect this computer to its Debian mirror, {_ADVICE}", kind="micropython-source",
        )


def debian_sources(apt: Path = _APT) -> tuple[str, str]:
    """The machine's own Debian archive as the sources file of another suite: its name and its text."""
    for path in sorted((apt / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if _is_debian(fields.get("URIs", ""), fields.get("Suites", ""), fields.get("Components", "")):
                fields |= {"Types": "deb-src", "Suites": SUITE, "Components": "main"}
                if "Signed-By" in fields and not fields["Signed-By"]:  # a key in the file itself
                    fields["Signed-By"] = stanza.partition("Signed-By:")[2].lstrip("\n")
                return "debian.sources", "".join(f"{key}: {value}\n" for key, value in fields.items())
    lists = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]
    for line in (line for path in lists if path.exists() for line in path.read_text(encoding="utf-8").splitlines()):
        match = re.match(r"deb(?:-src)?\s+(\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)", line)
        if match and _is_debian(match[2], match[3], match[4]):
            return "debian.list", f"deb-src {match[1] or ''}{match[2]} {SUITE} main\n"
    raise PilotlightError(
        "MicroPython's source comes from Debian, and this computer's package sources name no Debian archive",
        where=str(apt), hint=_ADVICE.removeprefix("or "), kind="micropython-source",
    )


def _is_debian(uris: str, suites: str, components: str) -> bool:
    """The main archive of a release, not its security updates and not another project's."""
    release = any("-" not in suite.partition("/")[0] and "/" not in suite for suite in suites.split())
    return release and "main" in components.split() and bool(re.search(r"debian/?(\s|$)", uris))
