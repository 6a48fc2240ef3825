"""Sound and motion in PyTorch: plain modules that train as any other and compile to little memory.

They need PyTorch alone. Signals are float tensors (..., time). Modules that filter or count keep state over calls in
buffers when they are given `state=`, the dimensions before time, and forget it in `reset()`.
"""

from pilotlight.nn.detect import ClippingDetector as ClippingDetector
from pilotlight.nn.detect import PosteriorSmoothing as PosteriorSmoothing
from pilotlight.nn.features import MFCC as MFCC
from pilotlight.nn.features import AmplitudeToDB as AmplitudeToDB
from pilotlight.nn.features import LogMel as LogMel
from pilotlight.nn.features import MelScale as MelScale
from pilotlight.nn.features import MelSpectrogram as MelSpectrogram
from pilotlight.nn.filters import Biquad as Biquad
from pilotlight.nn.filters import RemoveDC as RemoveDC
from pilotlight.nn.lfilter import lfilter as lfilter
from pilotlight.nn.normalize import PCEN as PCEN
from pilotlight.nn.normalize import RunningNorm as RunningNorm
from pilotlight.nn.resample import Resample as Resample
from pilotlight.nn.spectrogram import Framing as Framing
from pilotlight.nn.spectrogram import Spectrogram as Spectrogram
