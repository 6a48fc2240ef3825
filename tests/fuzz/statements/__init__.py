"""What a statement can be. A writer gets the maker, writes one statement (or none that fits) and says so."""

from __future__ import annotations

from fuzz.statements.complexes import COMPLEX
from fuzz.statements.control import CONTROL
from fuzz.statements.indexing import INDEXING
from fuzz.statements.inplace import IN_PLACE
from fuzz.statements.layers import ATTENTION, CONVOLUTION, DENSE, NORMS, POOLING, RECURRENT
from fuzz.statements.masks import MASKS
from fuzz.statements.pointwise import POINTWISE
from fuzz.statements.reductions import REDUCTIONS
from fuzz.statements.residual import RESIDUAL
from fuzz.statements.states import STATES
from fuzz.statements.views import VIEWS
from fuzz.statements.writer import Writer

FAMILIES: dict[str, tuple[Writer, ...]] = {
    "pointwise": POINTWISE,
    "views": VIEWS,
    "in_place": IN_PLACE,
    "states": STATES,
    "reductions": REDUCTIONS,
    "indexing": INDEXING,
    "masks": MASKS,
    "convolution": CONVOLUTION,
    "dense": DENSE,
    "norms": NORMS,
    "pooling": POOLING,
    "recurrent": RECURRENT,
    "attention": ATTENTION,
    "control": CONTROL,
    "residual": RESIDUAL,
    "complex": COMPLEX,
}
