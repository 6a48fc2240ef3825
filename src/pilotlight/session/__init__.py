"""A model on a board: boot, run, compare, and every figure."""

from pilotlight.session.accuracy import Accuracy, snr_db
from pilotlight.session.connected import ConnectedRun, ConnectedSession, run_connected
from pilotlight.session.inputs import read_inputs
from pilotlight.session.layers import LayerComparison, LayerMatch, compare_layers
from pilotlight.session.matching import same_bits
from pilotlight.session.program import ProgramSession, run_program
from pilotlight.session.result import Session
from pilotlight.session.run import run_session

__all__ = [
    "Accuracy", "ConnectedRun", "ConnectedSession", "LayerComparison", "LayerMatch", "ProgramSession", "Session",
    "compare_layers", "read_inputs", "run_connected", "run_program", "run_session", "same_bits", "snr_db",
]
