"""The table of example models, and how to load one by its name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import NamedTuple

from seeding import Entries, Model

HERE = Path(__file__).resolve().parent


class Entry(NamedTuple):
    """`on_board`: float32 weights and arena fit 4 MB of flash and 4 MB of RAM. `stateful`: buffers change."""

    file: str
    function: str
    on_board: bool = True
    stateful: bool = False


ZOO = {
    "kws": Entry("mlperf_tiny.py", "kws"),
    "vww": Entry("mlperf_tiny.py", "vww"),
    "ic": Entry("mlperf_tiny.py", "ic"),
    "ad": Entry("mlperf_tiny.py", "ad"),
    "mlp": Entry("classics.py", "mlp"),
    "lenet": Entry("classics.py", "lenet"),
    "alexnet": Entry("classics.py", "alexnet", on_board=False),
    "softmax": Entry("classics.py", "softmax_only"),
    "squeezenet": Entry("squeezenet.py", "squeezenet"),
    "mobilenet_v2": Entry("mobilenet.py", "mobilenet_v2"),
    "mobilenet_v3": Entry("mobilenet.py", "mobilenet_v3"),
    "shufflenet": Entry("shufflenet.py", "shufflenet"),
    "densenet": Entry("densenet.py", "densenet"),
    "unet": Entry("unet.py", "unet"),
    "cnn1d": Entry("signals.py", "cnn1d"),
    "tcn": Entry("signals.py", "tcn", stateful=True),
    "lstm": Entry("recurrent.py", "lstm"),
    "bilstm": Entry("recurrent.py", "bilstm"),
    "gru": Entry("recurrent.py", "gru"),
    "encoder": Entry("transformer.py", "encoder"),
    "bert_tiny": Entry("transformer.py", "bert_tiny"),
    "gpt": Entry("gpt.py", "gpt", stateful=True),
    "convnext": Entry("convnext.py", "convnext"),
    "autoencoder": Entry("autoencoder.py", "autoencoder"),
    "several": Entry("several.py", "several"),
}

PROGRAMS = {"gpt_pair": Entry("gpt.py", "gpt_pair", stateful=True)}  # with several entry points


def load_entries(name: str) -> Entries:
    """The entry points of that name."""
    entry = PROGRAMS[name]
    build = getattr(importlib.import_module(entry.file.removesuffix(".py")), entry.function)
    entries: Entries = build()
    return entries


def load(name: str) -> Model:
    """The module of that name, in eval mode, and its example inputs."""
    entry = ZOO[name]
    build = getattr(importlib.import_module(entry.file.removesuffix(".py")), entry.function)
    model: Model = build()
    return model


def model_spec(name: str) -> str:
    """The model as the command line takes it: file.py:function."""
    entry = (ZOO | PROGRAMS)[name]
    return f"{HERE / entry.file}:{entry.function}"
