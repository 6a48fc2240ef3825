"""MicroPython's source: a folder that the user names, or Debian's source package, fetched once. What else a port needs
comes from Debian's packages of source code.

The machine's own package sources give the mirror and the signing key; only the suite differs. The system's package
lists are not changed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
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
                command = ("source", "--only-source", "micropython")
                with _fetched(kept, "MicroPython's source", _ADVICE, "deb-src", *command) as new:
                    _only_folder(new)
    return _only_folder(kept)


def source_package(package: str, folder: str) -> Path:
    """A folder of a Debian package that holds source code: the installed one, or one that is fetched."""
    installed, kept = Path("/") / folder, cache.folder() / f"package-{package}"
    if installed.is_dir():
        return installed
    if not kept.exists():
        with cache.lock(kept.name):
            if not kept.exists():
                advice = f"or install {package}, or point MICROPY_DIR at MicroPython's source with its submodules"
                with _fetched(kept, f"Debian's package {package}", advice, "deb", "download", package) as new:
                    for archive in new.glob("*.deb"):
                        subprocess.run(["dpkg-deb", "-x", str(archive), str(new)], check=True)
    return kept / folder


def _only_folder(path: Path) -> Path:
    return next(p for p in sorted(path.iterdir()) if (p / "py" / "mkrules.mk").exists())


@contextlib.contextmanager
def _fetched(target: Path, what: str, advice: str, types: str, *command: str) -> Iterator[Path]:
    """A folder with what a command of apt-get fetched, which becomes `target` at the end. `advice` is for those who
    have no Debian mirror."""
    for tool, package in (("apt-get", "apt"), ("dpkg-source", "dpkg-dev"), ("make", "make")):
        if shutil.which(tool) is None:
            error = MissingToolError(tool, package, f"to fetch {what}")
            error.hint = f"{error.hint}, {advice}"
            raise error
    name, text = debian_sources(types=types)
    for stopped in target.parent.glob(f"fetching-{target.name}-*"):  # we hold the lock: nobody is at work there
        shutil.rmtree(stopped, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"fetching-{target.name}-") as temporary:
        folder = Path(temporary)
        for part in ("state", "lists/partial", "cache/archives/partial", "source"):
            (folder / part).mkdir(parents=True)
        (folder / "status").touch()
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        (folder / "apt.conf").write_text(_CONFIG.format(folder=folder, sources=name), encoding="utf-8", newline="\n")
        log = target.parent / "fetch.log"
        log.unlink(missing_ok=True)
        _apt(folder, log, what, advice, "update")
        _apt(folder, log, what, advice, *command)
        yield folder / "source"
        (folder / "source").rename(target)


def _apt(folder: Path, log: Path, what: str, advice: str, *args: str) -> None:
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
            f"{what} could not be fetched: " + (said[-1].partition(": ")[2] if said else "apt-get failed"),
            where=str(log), hint=f"connect this computer to its Debian mirror, {advice}", kind="micropython-source",
        )


def debian_sources(apt: Path = _APT, types: str = "deb-src") -> tuple[str, str]:
    """The machine's own Debian archive as the sources file of another suite: its name and its text. `types` is what to
    fetch: source packages (deb-src), or binary ones (deb)."""
    for path in sorted((apt / "sources.list.d").glob("*.sources")):
        for stanza in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")):
            fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*)$", stanza, re.MULTILINE))
            if _is_debian(fields.get("URIs", ""), fields.get("Suites", ""), fields.get("Components", "")):
                fields |= {"Types": types, "Suites": SUITE, "Components": "main"}
                if "Signed-By" in fields and not fields["Signed-By"]:  # a key in the file itself
                    fields["Signed-By"] = stanza.partition("Signed-By:")[2].lstrip("\n")
                return "debian.sources", "".join(f"{key}: {value}\n" for key, value in fields.items())
    lists = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]
    for line in (line for path in lists if path.exists() for line in path.read_text(encoding="utf-8").splitlines()):
        match = re.match(r"deb(?:-src)?\s+(\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)", line)
        if match and _is_debian(match[2], match[3], match[4]):
            return "debian.list", f"{types} {match[1] or ''}{match[2]} {SUITE} main\n"
    raise PilotlightError(
        "MicroPython's source comes from Debian, and this computer's package sources name no Debian archive",
        where=str(apt), hint=_ADVICE.removeprefix("or "), kind="micropython-source",
    )


def _is_debian(uris: str, suites: str, components: str) -> bool:
    """The main archive of a release, not its security updates and not another project's."""
    release = any("-" not in suite.partition("/")[0] and "/" not in suite for suite in suites.split())
    return release and "main" in components.split() and bool(re.search(r"debian/?(\s|$)", uris))
