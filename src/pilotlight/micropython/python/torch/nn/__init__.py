# Classes are made when first asked for: those of a file of `modules`, or a line of the table in `modules.simple`.
from torch._packed import load
from torch.nn.modules.module import Module
from torch.nn.parameter import Buffer, Parameter

_FILES = (
    ("container", "Sequential ModuleList"),
    ("mapping", "ModuleDict ParameterList ParameterDict"),
    ("linear", "Linear Identity NonDynamicallyQuantizableLinear"),
    ("conv", "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"),
    ("batchnorm", "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d"),
    ("normalization", "LayerNorm GroupNorm RMSNorm"),
    ("others", "Embedding EmbeddingBag Bilinear PReLU"),
    ("rnn", "RNN LSTM GRU RNNCell LSTMCell GRUCell RNNBase RNNCellBase"),
    ("activation", "MultiheadAttention"),
    ("transformer", "Transformer TransformerEncoder TransformerEncoderLayer TransformerDecoder TransformerDecoderLayer"),
)
_OFTEN = ("container", "linear", "conv", "batchnorm", "normalization", "simple")


def __getattr__(name):
    for file, names in _FILES:
        if name in names.split():
            break
    else:
        file = "simple"
        if name[0] == name[0].lower():
            try:
                return getattr(__import__("torch.nn." + name).nn, name)
            except ImportError:
                raise AttributeError("module 'torch.nn' has no attribute '" + name + "'")
    place = "torch.nn.modules." + file
    if file in _OFTEN:
        found = getattr(getattr(__import__(place).nn.modules, file), name)
    else:
        found = load(place)[name]
    globals()[name] = found
    return found
