# torch.nn.functional, torch.nn.init and functions of torch that are not operators; numbers go after the sign #.
import math
import torch
import torch.nn.functional as F
from torch import nn


def flat(value):
    if value is None or isinstance(value, (str, bool)):
        return [str(value)]
    if isinstance(value, (tuple, list)):
        return [number for item in value for number in flat(item)]
    if isinstance(value, (int, float)):
        return [value]
    return [str(tuple(value.shape)).replace(" ", "")] + value.reshape(-1).tolist()


def show(label, function):
    try:
        print(label, "#", *flat(function()))
    except Exception as error:
        print(label, "!", type(error).__name__)


def wave(*shape, phase=0.3):
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(count).float() * 0.7390851 + phase).sin().reshape(shape)


x, y, image, ones = wave(3, 4), wave(3, 4, phase=1.0), wave(1, 2, 6, 5), torch.ones(1, 1, 4, 4)
CALLS = """
F.relu(x)
F.relu(x.clone(), True)
F.relu(x.clone(), inplace=True)
F.leaky_relu(x, 0.2)
F.leaky_relu(x.clone(), 0.2, True)
F.hardtanh(x, -0.1, 0.2, True)
F.elu(x, alpha=0.5, inplace=False)
F.gelu(x, approximate='tanh')
F.softmax(x, dim=-1)
F.log_softmax(x, 1)
F.softmax(x, 1, 3, torch.float32)
F.log_softmax(x, dim=0, _stacklevel=5)
F.softmax(x)
F.softmin(wave(2, 2, 2))
F.adaptive_avg_pool2d(ones.long(), 1)
F.adaptive_avg_pool2d(ones.long(), 2)
F.adaptive_avg_pool1d(ones[0].long(), 1)
F.adaptive_max_pool2d(ones[0, 0], (2, 2))
F.adaptive_avg_pool2d(ones, None)
F.adaptive_avg_pool2d(ones, (None, 2))
F.softmin(x, dim=0)
F.dropout(x, 0.5, training=False)
F.dropout(x, 1.5)
F.max_pool2d(image, 2)
F.max_pool2d(image, 2, 1, padding=1)
F.max_pool2d(image, kernel_size=2, stride=2, return_indices=True)
F.avg_pool2d(image, 2)
F.adaptive_avg_pool2d(image, (1, 1))
F.adaptive_avg_pool2d(image, (None, 2))
F.adaptive_max_pool2d(image, 2, True)
F.pad(image, (1, 1))
F.pad(image, (1, 1, 2, 0), 'reflect')
F.pad(image, (1, 2), value=3.0)
F.interpolate(image, scale_factor=2, mode='bilinear', align_corners=False)
F.interpolate(image, size=(3, 3), mode='area')
F.interpolate(image, size=(3, 3), scale_factor=2)
F.interpolate(image)
F.interpolate(image, scale_factor=1.5, mode='bilinear', recompute_scale_factor=True)
F.unfold(image, 2, stride=2)
F.normalize(x, dim=1)
F.normalize(x, p=1, dim=0)
F.one_hot(torch.tensor([0, 2, 1]), 4)
F.embedding(torch.tensor([[0, 2]]), x)
F.cosine_similarity(x, y)
F.pairwise_distance(x, y, p=1)
F.linear(x, wave(5, 4), wave(5))
F.bilinear(x, y, wave(2, 4, 4))
F.conv2d(image, wave(3, 2, 3, 3), stride=2, padding=1)
F.conv1d(wave(1, 2, 7), wave(3, 2, 3), padding='same')
F.layer_norm(x, (4,), wave(4), wave(4))
F.batch_norm(x, wave(4), wave(4).abs(), wave(4), wave(4))
F.batch_norm(x[:1], None, None, training=True)
F.group_norm(image, 2)
F.instance_norm(image)
F.scaled_dot_product_attention(wave(1, 2, 3, 4), wave(1, 2, 5, 4), wave(1, 2, 5, 4))
F.cross_entropy(x, torch.tensor([0, 3, 1]))
F.cross_entropy(x, torch.tensor([0, 3, 1]), reduction='none')
F.cross_entropy(x, torch.tensor([0, 3, 1]), reduction='nonsense')
F.cross_entropy(x, y.softmax(1))
F.nll_loss(x, torch.tensor([0, 3, 1]), reduction='sum')
F.mse_loss(x, y, reduction='sum')
F.l1_loss(x, y)
F.gaussian_nll_loss(x, y, x[:, 0].abs())
F.gaussian_nll_loss(x, y, x[:, :1].abs())
F.gaussian_nll_loss(x, y, x[:, :2].abs())
F.gaussian_nll_loss(x, y, x[0].abs())
F.gaussian_nll_loss(x, y, -x.abs())
F.gaussian_nll_loss(x, y, 0.5, True)
F.local_response_norm(image.mul(9).long(), 3)
F.local_response_norm(x, 3)
F.l1_loss(x, y, False)
F.mse_loss(x, y, True, False)
F.mse_loss(x, y, size_average=False)
F.cross_entropy(x, y.softmax(1), None, False)
F.nll_loss(x, torch.tensor([0, 3, 1]), None, None, -100, False)
F.binary_cross_entropy_with_logits(x, y.sigmoid(), None, False, None)
F.kl_div(x, y.abs(), False, reduction='batchmean')
F.poisson_nll_loss(x, y, reduce=False)
F.hinge_embedding_loss(x, y.sign(), 1.0, False, True)
F.triplet_margin_loss(x, y, x + 1, reduce=False)
F.mse_loss(x, y, reduction='other')
nn.MSELoss(False)(x, y)
nn.CosineEmbeddingLoss(0.1, reduce=False)(x, y, torch.tensor([1, -1, 1]))
F.smooth_l1_loss(x, y, beta=0.3)
F.huber_loss(x, y, delta=0.3)
F.binary_cross_entropy(x.sigmoid(), y.sigmoid())
F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=wave(4).abs())
F.binary_cross_entropy(x.sigmoid(), y.sigmoid()[0])
F.kl_div(x.log_softmax(1), y.softmax(1), reduction='batchmean')
F.glu(x)
F.prelu(x, torch.tensor([0.3]))
F.threshold(x, 0.1, 5.0)
F.logsigmoid(x)
F.local_response_norm(image, 2)
F.nothing_like_this(x)
torch.nothing_like_this(x)
torch.einsum('ij,kj->ik', x, y)
torch.einsum('ij->j', x)
torch.einsum('ii', wave(3, 3))
torch.einsum('ii->i', wave(3, 3))
torch.einsum('bij,bjk->bik', wave(2, 3, 4), wave(2, 4, 5))
torch.einsum('...ij,jk', wave(2, 3, 4), wave(4, 5))
torch.einsum('i,j,k->kij', wave(2), wave(3), wave(4))
torch.einsum('nhwc,oc->nohw', wave(1, 2, 3, 4), wave(5, 4))
torch.einsum('bhid, bhjd -> bhij', wave(1, 2, 3, 4), wave(1, 2, 5, 4))
torch.einsum('ij,ij->', x, y)
torch.einsum('ij', x, y)
torch.einsum('ijk', x)
torch.einsum('ij->ik', x)
torch.tensordot(wave(2, 3, 4), wave(3, 4, 5))
torch.tensordot(wave(2, 3, 4), wave(4, 5), dims=1)
torch.tensordot(wave(2, 3, 4), wave(4, 3), dims=([1, 2], [1, 0]))
torch.tensordot(wave(2, 3), wave(2, 3), dims=1)
torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4, 5]))
torch.finfo(torch.float32).eps, torch.finfo(torch.float32).max, torch.finfo(torch.float16).tiny
torch.finfo(torch.bfloat16).eps, torch.finfo().bits, torch.finfo(torch.float16).min
torch.iinfo(torch.int8).max, torch.iinfo(torch.uint8).min, torch.iinfo(torch.int16).bits
torch.finfo(torch.int32)
torch.iinfo(torch.float32)
torch.special.expit(x)
torch.special.expm1(x)
torch.linalg.vector_norm(x)
torch.linalg.norm(x)
torch.linalg.norm(x, "fro")
torch.linalg.norm(x, 1, dim=1, keepdim=True)
torch.nonzero(x > 0, as_tuple=True)
(x > 0).nonzero(as_tuple=False)
"""
for call in CALLS.strip().split("\n"):
    show(call, lambda: eval(call))

INITS = """
nn.init.uniform_(t, -2, 3)
nn.init.normal_(t, 1.0, 0.5)
nn.init.constant_(t, 0.3)
nn.init.ones_(t)
nn.init.zeros_(t)
nn.init.eye_(t)
nn.init.xavier_uniform_(t, gain=2.0)
nn.init.xavier_normal_(t)
nn.init.kaiming_uniform_(t, a=math.sqrt(5))
nn.init.kaiming_normal_(t, mode='fan_out', nonlinearity='relu')
nn.init.trunc_normal_(t, std=0.02)
nn.init.trunc_normal_(t, mean=1.0, std=2.0, a=-1.0, b=1.5)
nn.init.trunc_normal_(t, mean=0.0, std=1.0, a=1.0, b=1.5)
nn.init.sparse_(t, 0.3)
nn.init.dirac_(k)
nn.init.dirac_(k, 2)
nn.init.kaiming_uniform_(k)
nn.init.xavier_uniform_(k)
nn.init.xavier_uniform_(torch.empty(3))
nn.init.calculate_gain('leaky_relu', 0.2)
nn.init.calculate_gain('tanh')
nn.init.calculate_gain('nonsense')
nn.init.kaiming_normal_(t, mode='nonsense')
"""
for call in INITS.strip().split("\n"):
    torch.manual_seed(11)
    t, k = torch.empty(7, 5), torch.empty(4, 2, 3, 3)
    show(call, lambda: eval(call))
torch.manual_seed(3)
q = nn.init.orthogonal_(torch.empty(6, 4))
print("orthogonal", (q.t() @ q - torch.eye(4)).abs().max().item() < 1e-5)
for make in ("nn.Linear(5, 3)", "nn.Conv2d(2, 4, 3)", "nn.ConvTranspose2d(2, 4, 3)", "nn.Embedding(5, 3)", "nn.LSTM(3, 4)",
             "nn.MultiheadAttention(8, 2)", "nn.TransformerEncoderLayer(8, 2, 16)", "nn.GRUCell(3, 2)", "nn.Bilinear(2, 3, 4)"):
    torch.manual_seed(5)
    show(make, lambda: list(eval(make).state_dict().values()))
torch.manual_seed(9)
show("dropout", lambda: F.dropout(wave(40), 0.3))
show("dropout2d", lambda: F.dropout2d(wave(2, 5, 2, 2), 0.3))
show("Dropout", lambda: nn.Dropout(0.4)(wave(40)))
show("alpha", lambda: F.alpha_dropout(wave(40), 0.3, training=True))
with torch.no_grad():
    print(torch.is_grad_enabled())
print(torch.is_grad_enabled())


@torch.no_grad()
def decorated():
    return torch.is_grad_enabled()


@torch.inference_mode()
def inferred():
    return torch.is_grad_enabled()


print(decorated(), inferred(), torch.get_default_dtype(), torch.cuda.is_available(), torch.__version__[:4])
with torch.set_grad_enabled(False):
    print(torch.is_grad_enabled())
print(torch.is_grad_enabled(), torch.pi, torch.inf)
