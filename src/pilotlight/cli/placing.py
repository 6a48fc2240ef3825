"""What commands say about memories that a file of measurements chose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pilotlight.cli.talk import Talk

if TYPE_CHECKING:
    from pilotlight.compiler import Build
    from pilotlight.programs import ProgramBuild
    from pilotlight.projects.template import Template


def note_placement(talk: Talk, build: Build | ProgramBuild) -> None:
    """Where the model is because of --tuned, or for which boards alone the files say where."""
    if not build.options.tuned:
        return
    from pilotlight.tune.costs import read_costs
    from pilotlight.tune.places import other_boards

    files = ", ".join(map(str, build.options.tuned))
    if build.place is not None:
        before, after = build.place.cycles
        share = f"{100 * (1 - after / before):.1f} % fewer cycles with waits" if before else "fewer cycles"
        talk.note(f"{build.place.text}, as {files} has it: {share} (est.); --weights-in says otherwise")
        return
    costs = read_costs(build.options.tuned, build.board, build.options.toolchain)
    others = other_boards(costs.places, build.board, build.name, build.lowered_graphs)
    if others:
        talk.note(f"{files} places {build.name} on {', '.join(others)} only, so its memories on {build.board.name} "
                  "are the usual ones")


def project_code(talk: Talk, build: Any, template: Template, wanted: str | None) -> str | None:
    """The memory for the code of a project: the user's, or the one that --tuned names if the template can do it."""
    place = build.place
    if place is None or wanted is not None:
        return wanted
    if place.weights and not template.memories:
        talk.note(f"the template {template.name} does not choose memories: put the weights into {place.weights} in the "
                  "linker script of its environment")
    if place.code and not template.takes_code_in(build.board.memory(place.code)):
        talk.note(f"the template {template.name} cannot put code into {place.code}; it stays where it is")
        return None
    return place.code or None
