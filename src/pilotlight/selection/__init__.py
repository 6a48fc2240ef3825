"""Which kernel computes which node: candidates in, a `Selection` out, and the graph prepared with it.

    selection = select_usual(graph, Offers(target))
    prepared = prepare(graph, target, selection)

`rules.py` has the ways to choose among the candidates of one node. Choosing under a budget for the whole model, where
flash and arena are shared, is in `tune/`.
"""

from pilotlight.selection.choices import Choice, Rule, Selection, select_by, select_usual
from pilotlight.selection.offers import Offers
from pilotlight.selection.prepare import prepare, prepare_node
from pilotlight.selection.rules import fastest, least_scratch, usual

__all__ = [
    "Choice", "Offers", "Rule", "Selection", "fastest", "least_scratch", "prepare", "prepare_node", "select_by",
    "select_usual", "usual",
]
