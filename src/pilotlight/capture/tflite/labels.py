"""What a `.tflite` file says about itself: its description, and the labels that its metadata brings along.

Metadata has files, such as labels.txt, as a zip archive at the end of the model.
"""

from __future__ import annotations

import io
import zipfile

from pilotlight.capture.tflite.model import TfliteModel

_MOST_FILES, _MOST_BYTES, _MOST_SHOWN = 16, 1 << 16, 2000
_OF_CONVERTERS = ("MLIR Converted.", "TOCO Converted.")  # says nothing about the model


def file_notes(model: TfliteModel) -> dict[str, str]:
    notes = {}
    if model.description and model.description not in _OF_CONVERTERS:
        notes["description"] = _shortened(model.description)
    labels = _labels(model.data)
    if labels:
        notes["labels"] = _shortened(", ".join(labels))
    return notes


def _labels(data: bytes) -> list[str]:
    """The lines of the text files in the archive; none where it is damaged."""
    if b"PK\x05\x06" not in data[-(1 << 16) :]:
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [info for info in archive.infolist()[:_MOST_FILES] if info.filename.endswith(".txt")]
            texts = [archive.open(info).read(_MOST_BYTES).decode("utf-8", "replace") for info in files]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError, EOFError):
        return []
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]} ..."
