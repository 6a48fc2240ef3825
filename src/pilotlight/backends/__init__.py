"""Engines that compute whole subgraphs: a vendor's library, an accelerator, another compiler.

    class Mine(Backend):
        name = "mine"

        def takes(self, node): ...              # True, or why not
        def lower(self, part): ...              # a subgraph → an Extern

`base.py` is the interface, `registry.py` finds backends by name, `partition.py` decides which nodes go together. Files
of this folder that register a backend are those that come with Pilotlight.
"""

from pilotlight.backends.base import Backend, Partition, Refused
from pilotlight.backends.registry import add_backend, backends_on
from pilotlight.ops.extern import Extern

__all__ = ["Backend", "Extern", "Partition", "Refused", "add_backend", "backends_on"]
