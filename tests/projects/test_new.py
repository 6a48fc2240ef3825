"""`new`, `update` and `build`: what they write, what they leave alone, and what they say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pilotlight import boards
from pilotlight.projects.manifest import read_manifest
from pilotlight.projects.template import all_templates, load_template
from support.command_line import call, call_error, call_json
from support.programs import path_of

NET = """
import torch

def net(hidden=3):
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, hidden), torch.nn.ReLU()), (torch.randn(1, 4),)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with net.py and a project made from it; tests copy it."""
    top = tmp_path_factory.mktemp("made")
    (top / "net.py").write_text(NET)
    choices = ["--init", "hidden=2", "--name", "small", "--optimize", "size"]
    call_json("new", top / "node", f"{top / 'net.py'}:net", *choices)
    return top


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy" / "node"


def test_the_manifest_says_what_it_was_made_from(project: Path) -> None:
    manifest = read_manifest(project)
    assert (manifest.template, manifest.board, manifest.yours) == ("cmake", "mps2-an386", ("main.c", "input.c"))
    assert manifest.arguments == {"model": "../net.py:net", "init": ["hidden=2"], "name": "small", "optimize": "size"}
    files = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
    assert files == {*manifest.files, "pilotlight.toml"}


def test_a_project_names_no_path_of_this_computer(made: Path, project: Path) -> None:
    for path in project.rglob("*"):
        if path.is_file():
            assert str(made).encode() not in path.read_bytes(), path


def test_what_is_there_is_not_overwritten(project: Path, tmp_path: Path) -> None:
    source = f"{project.parent / 'net.py'}:net"
    error = call_error("new", project, source)
    assert "is a project already" in error["message"] and "pilotlight update" in error["hint"]
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "main.c").write_text("int main(void) { return 7; }\n")
    error = call_error("new", folder, source)
    assert error["message"] == f"{folder / 'main.c'} would be overwritten"
    assert [path.name for path in folder.iterdir()] == ["main.c"]
    call_json("new", folder, source, "--force")
    assert "net_run" in (folder / "main.c").read_text()


def test_update_leaves_what_is_the_users(project: Path) -> None:
    """The model changes: its files are written anew, and nothing that the user has touched."""
    net = project.parent / "net.py"
    net.write_text(net.read_text().replace("manual_seed(0)", "manual_seed(1)"))
    (project / "main.c").write_text("/* mine */\n")
    (project / "input.c").unlink()
    cmake = project / "CMakeLists.txt"
    cmake.write_text(cmake.read_text() + "# mine\n")
    before = (project / "model" / "small_weights.c").read_bytes()
    done = call_json("update", project)
    assert done["kept"] == ["CMakeLists.txt"]
    assert "model/small_weights.c" in done["written"] and "main.c" not in done["written"]
    assert (project / "model" / "small_weights.c").read_bytes() != before
    assert (project / "main.c").read_text() == "/* mine */\n" and not (project / "input.c").exists()
    assert cmake.read_text().endswith("# mine\n")
    assert call_json("update", project)["kept"] == ["CMakeLists.txt"]
    assert call_json("update", project, "--force")["written"] == ["CMakeLists.txt"]
    assert call_json("update", project) | {"folder": ""} == {
        "folder": "", "template": "cmake", "board": "mps2-an386", "written": [], "removed": [], "kept": [],
    }


def test_build_says_what_it_would_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = call_json("build", project, "--dry-run")
    assert commands["commands"] == ["cmake -S . -B build", "cmake --build build"] and not commands["ran"]
    monkeypatch.setenv("PATH", "")
    error = call_error("build", project)
    assert error["message"] == f"cmake was not found; it is needed to build {project}"
    assert error["hint"] == "install it with: apt-get install cmake"


def test_build_reports_a_failure(project: Path) -> None:
    path_of("cmake")
    (project / "CMakeLists.txt").write_text('message(FATAL_ERROR "stop")\n')
    error = call_error("build", project)
    assert error["message"] == f"`cmake -S . -B build` in {project} failed with exit code 1"


def test_a_folder_that_is_no_project(tmp_path: Path) -> None:
    for command in ("build", "update"):
        assert call_error(command, tmp_path)["message"] == f"{tmp_path} is not a project: it has no pilotlight.toml"
    (tmp_path / "pilotlight.toml").write_text("version = 9\n")
    assert "version 9 of a project; expected 1" in call_error("build", tmp_path)["message"]
    for text, problem in (("version = 1\n", "template is missing"), ("junk = [", "Invalid value")):
        (tmp_path / "pilotlight.toml").write_text(text)
        message = call_error("update", tmp_path)["message"]
        assert message.startswith(f"the description of the project cannot be used: {problem}")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--template", "cmak"], "unknown template 'cmak'; did you mean 'cmake'?"),
        (["--board", "pico"], "the template cmake does not take pico: its flash starts with a second boot loader"),
        (["--board", "esp32"], "the template cmake does not take esp32: there is no start-up code for its core, esp32"),
        (["--board", "host"], "the template cmake does not take host: it is for boards"),
        (["--option", "speed=1"], "the template cmake has no option 'speed'"),
        (["--option", "interval"], "'interval' is not NAME=VALUE"),
        (["--templates", "nowhere"], "there is no folder of templates nowhere"),
    ],
)
def test_wrong_choices_are_refused_before_any_work(args: list[str], message: str, tmp_path: Path) -> None:
    assert message in call_error("new", tmp_path / "node", "no-such.py:net", *args)["message"]
    assert not (tmp_path / "node").exists()


def test_an_unknown_memory_for_the_code(project: Path, tmp_path: Path) -> None:
    error = call_error("new", tmp_path / "node", f"{project.parent / 'net.py'}:net", "--code-in", "itcm")
    assert "has no memory named 'itcm'" in error["message"]
    assert not (tmp_path / "node").exists()


def test_templates_of_the_user(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "templates" / "bare"
    (own / "files" / "src").mkdir(parents=True)
    (own / "template.toml").write_text(
        'title = "my own"\nyours = ["src/app.c"]\n[shared]\n"src/show.h" = "show.h"\n'
        '[[option]]\nname = "led"\ndefault = "13"\nhelp = "a pin"\n[boards]\nname = "zephyr"\n'
        '[commands]\nbuild = [["make", "BOARD={{ board.name }}"]]\n[tools]\nmake = "make"\n'
    )
    (own / "files" / "src" / "app.c.j2").write_text("/* {{ model.entries[0].run }}, led {{ options.led }} */\n")
    (own / "files" / "{{ model.name }}.txt").write_text("{{ board.names.zephyr }}\n")
    (own / "files" / "never.c.j2").write_text("{% if board.is_host %}x{% endif %}\n")
    node = tmp_path / "node"
    source = f"{project.parent / 'net.py'}:net"
    call_json("new", node, source, "--template", "bare", "--templates", own.parent, "--option", "led=2")
    assert (node / "src" / "app.c").read_text() == "/* net_run, led 2 */\n"
    assert (node / "net.txt").read_text() == "mps2/an386\n"
    assert (node / "src" / "show.h").exists() and not (node / "never.c").exists()
    assert call_json("build", node, "--dry-run")["commands"] == ["make BOARD=mps2-an386"]
    assert call_json("update", node)["written"] == []
    names = {row["name"] for row in call_json("boards", "--template", "bare", "--templates", own.parent)["boards"]}
    assert names == {board.name for board in boards.all_boards() if board.names.zephyr}
    monkeypatch.setenv("PILOTLIGHT_TEMPLATES", str(own.parent))
    assert load_template("bare").title == "my own"
    (own / "template.toml").write_text('title = "my own"\ncolour = "red"\n')
    assert "colour: unknown key; known: title" in call_error("boards", "--template", "bare")["message"]


def test_help_has_templates_and_their_options() -> None:
    shown = " ".join(call("new", "--help").output.split())
    for template in all_templates():
        assert template.name in shown and template.title in shown
        assert all(option.help in shown for option in template.options)


def test_boards_of_a_template() -> None:
    names = {row["name"] for row in call_json("boards", "--template", "cmake")["boards"]}
    assert {"mps2-an386", "riscv32-virt", "nucleo-wb55rg"} <= names
    assert not names & {"host", "pico", "esp32", "esp32-s3", "teensy41"}


@pytest.mark.parametrize("name", ["net", "test"])
def test_a_project_called_like_its_model_or_a_target_builds(name: str, project: Path, tmp_path: Path) -> None:
    """Two targets of CMake cannot have one name."""
    for program in ("cmake", "arm-none-eabi-gcc"):
        path_of(program)
    node = tmp_path / name
    call_json("new", node, f"{project.parent / 'net.py'}:net", "--board", "mps2-an386")
    call_json("build", node)
    assert (node / "build" / f"{name}_app.elf").exists()


@pytest.mark.parametrize(("name", "app"), [("input", "run"), ("board", "run"), ("fault", "server")])
def test_a_model_called_like_a_file_of_the_project(name: str, app: str, made: Path, tmp_path: Path) -> None:
    """Its header would be hidden."""
    model = f"{made / 'net.py'}:net"
    error = call_error("new", tmp_path / "node", model, "--board", "mps2-an386", "--name", name, "--app", app)
    assert error["message"] == f"the model is called {name}, and the project has a file {name}.h of its own"
    assert error["hint"] == f"give the model another name: --name {name}_net" and not (tmp_path / "node").exists()
