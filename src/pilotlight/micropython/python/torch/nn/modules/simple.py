# Modules that only keep arguments for a function, one a line: class, function, arguments.
# An argument is [mark]name[>keyword][=default]; marks: `-` is not in the text, `?` only if true, `~` only if not None,
# `@` without its name, `*` was given to the class but not for the function, `:` is constant, `+` is an attribute that
# the class has anyway. Behind the name `^n` repeats a number n times; a default `$x` is the argument x.
from torch.nn import functional
from torch.nn.modules.module import Module

# Signs in the table for lists that many lines have.
_LISTS = (
    ("%", " *size_average=None *reduce=None -reduction='mean'"),
    ("{", " *size_average=None -ignore_index=-100 *reduce=None -reduction='mean'"),
    ("&", " kernel_size stride=$kernel_size padding=0 dilation=1 -return_indices=False ceil_mode=False"),
    ("#", " kernel_size stride=$kernel_size padding=0 -ceil_mode=False -count_include_pad=True -divisor_override=None"),
    (";", " p=0.5 inplace=False +training"),
    ("|", " ?inplace=False"),
)
_TABLE = """
ReLU relu|
ReLU6 relu6|
LeakyReLU leaky_relu negative_slope=0.01|
ELU elu alpha=1.0|
CELU celu alpha=1.0|
SELU selu|
SiLU silu|
Mish mish|
Hardswish hardswish -inplace=False
Hardsigmoid hardsigmoid -inplace=False
Hardtanh hardtanh min_val=-1.0 max_val=1.0|
Hardshrink hardshrink @lambd=0.5
Softshrink softshrink @lambd=0.5
Softplus softplus beta=1.0 threshold=20.0
Threshold threshold threshold value|
RReLU rrelu lower=0.125 upper=0.3333333333333333| +training
GELU gelu approximate='none'
GLU glu dim=-1
Sigmoid sigmoid
LogSigmoid logsigmoid
Tanh tanh
Tanhshrink tanhshrink
Softsign softsign
Softmax softmax dim=None
Softmax2d softmax :dim=-3
Softmin softmin dim=None
LogSoftmax log_softmax dim=None
Dropout dropout;
Dropout1d dropout1d;
Dropout2d dropout2d;
Dropout3d dropout3d;
AlphaDropout alpha_dropout;
FeatureAlphaDropout feature_alpha_dropout;
MaxPool1d max_pool1d&
MaxPool2d max_pool2d&
MaxPool3d max_pool3d&
AvgPool1d avg_pool1d kernel_size^1 stride^1=$kernel_size padding^1=0 -ceil_mode=False -count_include_pad=True
AvgPool2d avg_pool2d#
AvgPool3d avg_pool3d#
LPPool1d lp_pool1d norm_type kernel_size stride=None ceil_mode=False
LPPool2d lp_pool2d norm_type kernel_size stride=None ceil_mode=False
AdaptiveAvgPool1d adaptive_avg_pool1d output_size
AdaptiveAvgPool2d adaptive_avg_pool2d output_size
AdaptiveAvgPool3d adaptive_avg_pool3d output_size
AdaptiveMaxPool1d adaptive_max_pool1d output_size -return_indices=False
AdaptiveMaxPool2d adaptive_max_pool2d output_size -return_indices=False
AdaptiveMaxPool3d adaptive_max_pool3d output_size -return_indices=False
Flatten flatten start_dim=1 end_dim=-1
Unflatten unflatten dim unflattened_size>sizes
Fold fold output_size kernel_size dilation=1 padding=0 stride=1
Unfold unfold kernel_size dilation=1 padding=0 stride=1
PixelShuffle pixel_shuffle upscale_factor
PixelUnshuffle pixel_unshuffle downscale_factor
ChannelShuffle channel_shuffle groups
Upsample interpolate ~size=None ~scale_factor=None mode='nearest' -align_corners=None -recompute_scale_factor=None
UpsamplingNearest2d interpolate ~size=None ~scale_factor=None !mode='nearest'
UpsamplingBilinear2d interpolate ~size=None ~scale_factor=None !mode='bilinear' :align_corners=True
ConstantPad1d pad padding^2>pad value
ConstantPad2d pad padding^4>pad value
ConstantPad3d pad padding^6>pad value
ZeroPad1d pad @padding^2>pad
ZeroPad2d pad @padding^4>pad
ZeroPad3d pad @padding^6>pad
ReflectionPad1d pad @padding^2>pad :mode='reflect'
ReflectionPad2d pad @padding^4>pad :mode='reflect'
ReflectionPad3d pad @padding^6>pad :mode='reflect'
ReplicationPad1d pad @padding^2>pad :mode='replicate'
ReplicationPad2d pad @padding^4>pad :mode='replicate'
ReplicationPad3d pad @padding^6>pad :mode='replicate'
CircularPad1d pad @padding^2>pad :mode='circular'
CircularPad2d pad @padding^4>pad :mode='circular'
CircularPad3d pad @padding^6>pad :mode='circular'
LocalResponseNorm local_response_norm @size alpha=0.0001 beta=0.75 k=1.0
CosineSimilarity cosine_similarity -dim=1 -eps=1e-08
PairwiseDistance pairwise_distance -p=2.0 -eps=1e-06 -keepdim=False
L1Loss l1_loss%
MSELoss mse_loss%
SoftMarginLoss soft_margin_loss%
SmoothL1Loss smooth_l1_loss% -beta=1.0
HuberLoss huber_loss -reduction='mean' -delta=1.0
KLDivLoss kl_div% -log_target=False
NLLLoss nll_loss -weight=None{
CrossEntropyLoss cross_entropy -weight=None{ -label_smoothing=0.0
BCELoss binary_cross_entropy -weight=None%
BCEWithLogitsLoss binary_cross_entropy_with_logits -weight=None% -pos_weight=None
PoissonNLLLoss poisson_nll_loss -log_input=True -full=False *size_average=None -eps=1e-08 *reduce=None -reduction='mean'
GaussianNLLLoss gaussian_nll_loss -full=False -eps=1e-06 -reduction='mean'
CosineEmbeddingLoss cosine_embedding_loss -margin=0.0%
HingeEmbeddingLoss hinge_embedding_loss -margin=1.0%
MarginRankingLoss margin_ranking_loss -margin=0.0%
TripletMarginLoss triplet_margin_loss -margin=1.0 -p=2.0 -eps=1e-06 -swap=False%
"""


def _literal(text):
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text[0] == "'":
        return text[1:-1]
    return float(text) if "." in text or "e" in text else int(text)


def _repeat(value, count):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


# (mark, name, count, keyword, default) of an argument; a default is a text, or None where there is none
def _argument(text):
    text, _, default = text.partition("=")
    text, _, keyword = text.partition(">")
    mark = text[0] if text[0] in "-?~@*:+!" else ""
    name, _, count = text[len(mark) :].partition("^")
    return mark, name, int(count or 0), keyword or name, default


class _Simple(Module):
    _spec = ()

    def __init__(self, *args, **kwargs):
        super().__init__()
        at = 0
        for mark, name, count, _, default in self._spec:
            if mark == "+":
                continue
            if mark == ":" or mark == "!":
                value = _literal(default)
            elif at < len(args):
                value = args[at]
                at += 1
                if name in kwargs:
                    self._wrong("got multiple values for argument", name)
            elif name in kwargs:
                value = kwargs.pop(name)
            elif not default:
                self._wrong("missing 1 required positional argument:", name)
            else:
                value = None if default[0] == "$" else _literal(default)
            if value is None and default[:1] == "$":
                value = getattr(self, default[1:])
            if count:
                value = _repeat(value, count)
            if name == "p" and not 0 <= value <= 1 and "inplace" in [a[1] for a in self._spec]:
                raise ValueError("dropout probability has to be between 0 and 1, but got " + str(value))
            if name == "scale_factor" and value is not None:
                value = tuple([float(v) for v in value]) if isinstance(value, (tuple, list)) else float(value)
            if name == "weight" or name == "pos_weight":
                self.register_buffer(name, value)
            elif mark != "*":
                setattr(self, name, value)
        if at < len(args):
            self._wrong("takes %d positional arguments but" % (at + 1), "%d were given" % (len(args) + 1))
        for name in kwargs:
            self._wrong("got an unexpected keyword argument", name)

    def _wrong(self, what, name):
        name = name if " " in name else "'" + name + "'"
        raise TypeError("%s.__init__() %s %s" % (type(self).__name__, what, name))

    def forward(self, *inputs):
        keywords = {}
        for mark, name, _, keyword, _ in self._spec:
            if mark != "*":
                keywords[keyword] = getattr(self, name)
        return getattr(functional, self._function)(*inputs, **keywords)

    def extra_repr(self):
        parts = []
        for mark, name, _, _, _ in self._spec:
            if mark in ("", "@", "!") or mark in ("?", "~") and getattr(self, name) not in (None, False):
                value = getattr(self, name)
                parts.append(str(value) if mark == "@" else name + "=" + repr(value))
        return ", ".join(parts)


def __getattr__(name):
    start = _TABLE.find("\n" + name + " ")
    if start < 0:
        raise AttributeError("module 'torch.nn' has no attribute '" + name + "'")
    line = _TABLE[start + 1 : _TABLE.find("\n", start + 1)]
    for sign, text in _LISTS:
        line = line.replace(sign, text)
    line = line.split()
    made = type(name, (_Simple,), {"_function": line[1], "_spec": [_argument(a) for a in line[2:]]})
    globals()[name] = made
    return made
