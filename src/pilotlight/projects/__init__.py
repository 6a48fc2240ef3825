"""Projects: a compiled model with everything that one environment needs around it.

    template.load_template("cmake") -> Template       a folder of small files; docs/projects.md
    render.render(template, build, ...) -> Rendered   all files of a project, in memory
    write.create(...), write.update(...) -> Changes   into a folder of the user
    manifest.read_manifest(folder) -> Manifest        pilotlight.toml, what a project was made from
    commands.run_commands(folder, "build")            the commands of its own environment
"""
