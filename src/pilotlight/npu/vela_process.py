"""Vela in a process of its own, for many networks: it takes half a second to load, and a few hundredths for a layer.

A request is a line of JSON, Vela's arguments; the answer a line as well: null, or what Vela wrote when it gave up. This
file is run as a program and imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile


def compiled(arguments: list[str]) -> str | None:
    from ethosu.vela import vela

    try:
        code = vela.main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except Exception as error:  # Vela's own classes, and those of its compiled part
        return " ".join(str(error).split()) or type(error).__name__
    return f"it ended with the code {code}" if code else None


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        with tempfile.TemporaryFile("w+") as log:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(log.fileno(), 1)  # the compiled part writes there too
            os.dup2(log.fileno(), 2)
            error = compiled(json.loads(line))
            sys.stdout.flush()
            sys.stderr.flush()
            log.seek(0)
            said = [text.strip() for text in log.read().splitlines() if "rror" in text]
        if error is not None and said:
            error = "; ".join(dict.fromkeys([*said, error]))
        print(json.dumps(error), file=answers, flush=True)


if __name__ == "__main__":
    serve()
