# Modules that only keep arguments for a function, one a line: class, function, arguments.
# An argument is [mark]name[^count][>keyword][=default]; marks: `-` is not in the text, `?` only if true, `~` only if not
# None, `@` without its name, `:` is constant (`!` and in the text), `+` is an attribute that the class has anyway. A count
# repeats a number; a default `$x` is the argument x. A slash stands before the file of a class that has code of its own.

_TABLE = """
ReLU relu ?inplace=False
ReLU6 relu6 ?inplace=False
LeakyReLU leaky_relu negative_slope=0.01 ?inplace=False
ELU elu alpha=1.0 ?inplace=False
CELU celu alpha=1.0 ?inplace=False
SELU selu ?inplace=False
SiLU silu ?inplace=False
Mish mish ?inplace=False
Hardswish hardswish -inplace=False
Hardsigmoid hardsigmoid -inplace=False
Hardtanh hardtanh min_val=-1.0 max_val=1.0 ?inplace=False
Hardshrink hardshrink @lambd=0.5
Softshrink softshrink @lambd=0.5
Softplus softplus beta=1.0 threshold=20.0
Threshold threshold threshold value ?inplace=False
RReLU rrelu lower=0.125 upper=0.3333333333333333 ?inplace=False +training
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
Dropout dropout p=0.5 inplace=False +training
Dropout1d dropout1d p=0.5 inplace=False +training
Dropout2d dropout2d p=0.5 inplace=False +training
Dropout3d dropout3d p=0.5 inplace=False +training
AlphaDropout alpha_dropout p=0.5 inplace=False +training
FeatureAlphaDropout feature_alpha_dropout p=0.5 inplace=False +training
MaxPool1d max_pool1d kernel_size stride=$kernel_size padding=0 dilation=1 -return_indices=False ceil_mode=False
MaxPool2d max_pool2d kernel_size stride=$kernel_size padding=0 dilation=1 -return_indices=False ceil_mode=False
MaxPool3d max_pool3d kernel_size stride=$kernel_size padding=0 dilation=1 -return_indices=False ceil_mode=False
AvgPool1d avg_pool1d kernel_size^1 stride^1=$kernel_size padding^1=0 -ceil_mode=False -count_include_pad=True
AvgPool2d avg_pool2d kernel_size stride=$kernel_size padding=0 -ceil_mode=False -count_include_pad=True -divisor_override=None
AvgPool3d avg_pool3d kernel_size stride=$kernel_size padding=0 -ceil_mode=False -count_include_pad=True -divisor_override=None
LPPool1d lp_pool1d norm_type kernel_size stride=None ceil_mode=False
LPPool2d lp_pool2d norm_type kernel_size stride=None ceil_mode=False
AdaptiveAvgPool1d adaptive_avg_pool1d output_size
AdaptiveAvgPool2d adaptive_avg_pool2d output_size
AdaptiveAvgPool3d adaptive_avg_pool3d output_size
AdaptiveMaxPool1d adaptive_max_pool1d output_size -return_indices=False
AdaptiveMaxPool2d adaptive_max_pool2d output_size -return_indices=False
AdaptiveMaxPool3d adaptive_max_pool3d output_size -return_indices=False
MaxUnpool1d max_unpool1d kernel_size^1 stride^1=$kernel_size padding^1=0
MaxUnpool2d max_unpool2d kernel_size^2 stride^2=$kernel_size padding^2=0
MaxUnpool3d max_unpool3d kernel_size^3 stride^3=$kernel_size padding^3=0
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
L1Loss l1_loss -size_average=None -reduce=None -reduction='mean'
MSELoss mse_loss -size_average=None -reduce=None -reduction='mean'
SoftMarginLoss soft_margin_loss -size_average=None -reduce=None -reduction='mean'
SmoothL1Loss smooth_l1_loss -size_average=None -reduce=None -reduction='mean' -beta=1.0
HuberLoss huber_loss -reduction='mean' -delta=1.0
KLDivLoss kl_div -size_average=None -reduce=None -reduction='mean' -log_target=False
NLLLoss nll_loss -weight=None -size_average=None -ignore_index=-100 -reduce=None -reduction='mean'
CrossEntropyLoss cross_entropy -weight=None -size_average=None -ignore_index=-100 -reduce=None -reduction='mean' -label_smoothing=0.0
BCELoss binary_cross_entropy -weight=None -size_average=None -reduce=None -reduction='mean'
BCEWithLogitsLoss binary_cross_entropy_with_logits -weight=None -size_average=None -reduce=None -reduction='mean' -pos_weight=None
PoissonNLLLoss poisson_nll_loss -log_input=True -full=False -size_average=None -eps=1e-08 -reduce=None -reduction='mean'
GaussianNLLLoss gaussian_nll_loss -full=False -eps=1e-06 -reduction='mean'
CosineEmbeddingLoss cosine_embedding_loss -margin=0.0 -size_average=None -reduce=None -reduction='mean'
HingeEmbeddingLoss hinge_embedding_loss -margin=1.0 -size_average=None -reduce=None -reduction='mean'
MarginRankingLoss margin_ranking_loss -margin=0.0 -size_average=None -reduce=None -reduction='mean'
CTCLoss ctc_loss -blank=0 -reduction='mean' -zero_infinity=False
MultiMarginLoss multi_margin_loss -p=1 -margin=1.0 -weight=None -size_average=None -reduce=None -reduction='mean'
MultiLabelMarginLoss multilabel_margin_loss -size_average=None -reduce=None -reduction='mean'
MultiLabelSoftMarginLoss multilabel_soft_margin_loss -weight=None -size_average=None -reduce=None -reduction='mean'
TripletMarginLoss triplet_margin_loss -margin=1.0 -p=2.0 -eps=1e-06 -swap=False -size_average=None -reduce=None -reduction='mean'
Embedding /others
EmbeddingBag /others
Identity /others
Bilinear /others
PReLU /others
LayerNorm /normalization
GroupNorm /normalization
RMSNorm /normalization
ModuleDict /mapping
ParameterList /mapping
ParameterDict /mapping
RNN /rnn
LSTM /rnn
GRU /rnn
RNNCell /rnn
LSTMCell /rnn
GRUCell /rnn
RNNBase /rnn
RNNCellBase /rnn
MultiheadAttention /activation
NonDynamicallyQuantizableLinear /activation
Transformer /transformer
TransformerEncoder /transformer
TransformerEncoderLayer /transformer
TransformerDecoder /transformer
TransformerDecoderLayer /transformer
"""


# the line of a class; empty where there is none
def find(name):
    start = _TABLE.find("\n" + name + " ")
    return _TABLE[start + 1 : _TABLE.find("\n", start + 1)] if start >= 0 else ""
