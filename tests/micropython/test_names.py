"""Functions and modules that are parts of their own: what PyTorch gives, and what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pilotlight.cli.micropython import selection_options
from pilotlight.micropython.module import write_module
from pilotlight.micropython.select import PARTS, SMALL, TorchSelection, part_operators
from support.micropython_compare import differences
from support.micropython_scripts import output

SETUP = """
from torch import inf, linalg
a = torch.tensor([[4., 1., -2.], [2., -1., 3.], [0.5, 2., 1.]])
singular = torch.tensor([[1., 2.], [2., 4.]])
pair = torch.stack([torch.eye(2), singular])
spd = a @ a.t() + torch.eye(3)
b = torch.arange(6.).reshape(3, 2)
many = torch.stack([a, a.t() * 2, spd])
ints = torch.tensor([[1, 2], [3, 5]])
"""
MATRICES = """
torch.inverse(a)
a.inverse()
linalg.inv(many.t() if many.dim() == 2 else many.transpose(1, 2))
linalg.inv(singular)
torch.inverse(pair)
linalg.inv(ints)
linalg.inv(a[0])
linalg.inv(b)
linalg.inv(torch.zeros(0, 3, 3))
linalg.inv(torch.zeros(0, 0))
linalg.inv(a.half())
linalg.solve(a, b)
linalg.solve(a, b[:, 0])
linalg.solve(many, b)
linalg.solve(many, b[:, 0])
linalg.solve(a, b.t(), left=False)
linalg.solve(singular, b[:2])
linalg.solve(pair, b[:2])
linalg.solve(a, b.long())
linalg.solve(a, b[:2])
linalg.solve(a, torch.tensor(1.))
linalg.solve(torch.zeros(2, 0, 0), torch.zeros(2, 0, 3))
torch.det(a)
linalg.det(many.reshape(3, 1, 3, 3))
linalg.det(pair)
linalg.det(torch.zeros(0, 0))
linalg.det(torch.tensor([[float('nan'), 1.], [1., 1.]]))
linalg.det(torch.tensor([[0., 1.], [1., 0.]]))
a.det()
torch.det(b)
torch.slogdet(many)
linalg.slogdet(pair).logabsdet
torch.logdet(many)
torch.logdet(-spd)
linalg.cholesky(spd)
linalg.cholesky(spd, upper=True)
torch.cholesky(torch.stack([spd, spd * 2]))
linalg.cholesky(a)
linalg.cholesky(pair)
linalg.cholesky(torch.tensor([[[1.]], [[inf]]]))
linalg.cholesky(torch.tensor([[1., 1.], [1., inf]]), upper=True)
linalg.cholesky(torch.tensor([[inf, 1.], [1., 1.]]))
linalg.cholesky(torch.tensor([[2., 1., 1.], [1., inf, 1.], [1., 1., 2.]]))
linalg.cholesky(torch.tensor([[4., 2.], [2., float('nan')]]))
torch.matrix_power(a, 5)
linalg.matrix_power(many, -3)
ints.matrix_power(0)
ints.matrix_power(4)
torch.matrix_power(b, 2)
linalg.matrix_power(singular, -1)
linalg.multi_dot([b[:, 0], a, spd, b])
linalg.multi_dot([a, b, b[0]])
linalg.multi_dot([a])
linalg.multi_dot([a, a[0], a])
linalg.multi_dot([b, b])
torch.chain_matmul(a, b)
linalg.vecdot(a, spd)
linalg.cross(a, spd)
torch.cross(b, b + 1, dim=0)
torch.cross(a, a[:1] * 2, dim=-1)
linalg.cross(b, b)
linalg.cross(a, a[0])
torch.cov(b)
torch.cov(b, correction=0, fweights=torch.tensor([2, 1]), aweights=torch.tensor([0.5, 2.]))
torch.cov(ints)
torch.cov(b, fweights=torch.tensor([1., 2.]))
torch.cov(b, fweights=torch.tensor([1, -2]))
torch.cov(b, aweights=torch.ones(3))
torch.cov(many)
torch.cov(b > 1)
a.corrcoef()
torch.corrcoef(b[:, 0])
torch.corrcoef(torch.tensor(2.))
issubclass(linalg.LinAlgError, RuntimeError)
"""
SIGNALS = """
[torch.hann_window(n) for n in range(6)]
[torch.hann_window(n, False) for n in range(6)]
torch.hann_window(4, periodic=True, dtype=torch.float16)
torch.hann_window(400, device='cpu') + 1
torch.hann_window(-1)
torch.hamming_window(9, False, 0.6, 0.3)
torch.hamming_window(16)
torch.blackman_window(12)
torch.blackman_window(12, False)
torch.bartlett_window(8)
torch.bartlett_window(9, False)
torch.kaiser_window(16)
torch.kaiser_window(11, False, 3.5)
torch.kaiser_window(1)
torch.trapezoid(y)
torch.trapz(y, x)
torch.trapezoid(y, x=x, dim=1)
torch.trapezoid(y, dx=0.5, dim=0)
torch.trapezoid(i)
torch.trapezoid(y, x[:2])
torch.trapezoid(y > 1)
torch.trapezoid(torch.tensor(1.))
torch.trapezoid(torch.zeros(3, 0))
torch.cumulative_trapezoid(y, x)
torch.cumulative_trapezoid(i, dx=2, dim=0)
torch.histc(y, 4)
torch.histc(y, bins=5, min=-1, max=3)
y.histc(3, 2, 2)
torch.histc(torch.full((5,), 2.), 4)
torch.histc(torch.tensor([0., 1., float('nan'), 9.]), 2, 0, 1)
torch.histc(torch.zeros(0), 3)
torch.histc(y, 0)
torch.histc(y, 2, 3, 1)
torch.histc(i)
"""
TYPES = """
torch.result_type(torch.zeros(2, dtype=torch.int8), 1)
torch.result_type(torch.zeros(2, dtype=torch.int8), 1.5)
torch.result_type(1, torch.zeros((), dtype=torch.int16))
torch.result_type(torch.zeros(2, dtype=torch.int8), torch.zeros((), dtype=torch.int64))
torch.result_type(torch.zeros((), dtype=torch.int8), torch.zeros((), dtype=torch.float16))
torch.result_type(True, torch.zeros(1, dtype=torch.uint8))
torch.result_type(1, 2.5)
torch.result_type(1, True)
torch.promote_types(torch.int8, torch.uint8)
torch.promote_types(torch.float16, torch.bfloat16)
torch.promote_types(torch.bool, torch.bool)
[torch.can_cast(p, q) for p in types for q in types]
torch.broadcast_shapes((2, 1), (3,), (1, 1, 1))
torch.broadcast_shapes((2, 3), (4,))
torch.broadcast_shapes(3, (2, 1))
torch.broadcast_shapes((0,), (1,))
torch.broadcast_shapes()
torch.broadcast_shapes((-1,))
torch.combinations(torch.tensor([5, 3, 9]))
torch.combinations(torch.arange(4.), 3)
torch.combinations(torch.arange(3), r=2, with_replacement=True)
torch.combinations(torch.arange(2), 3)
torch.combinations(torch.arange(2), 0)
torch.combinations(torch.ones(2, 2))
torch.combinations(torch.arange(2), -1)
torch.LongTensor([[1, 2], [3, 4]])
torch.FloatTensor((1, 2, 3))
torch.FloatTensor(2, 3).shape
torch.IntTensor(torch.Size([2, 0])).shape
torch.ByteTensor()
torch.BoolTensor([0, 1, 2])
torch.LongTensor([2 ** 40 + 1])
torch.HalfTensor([0.1])
torch.ShortTensor(torch.tensor([1, 2], dtype=torch.int16))
torch.LongTensor(2.5)
torch.tensor([1.7, -2.7]).type(torch.LongTensor)
torch.tensor([1, 2]).type(torch.FloatTensor)
torch.tensor([1, 2]).type(torch.zeros)
torch.tensor([1, 2]).type(3)
"""
IMAGES = """
F.grid_sample(im, grid, align_corners=False)
F.grid_sample(im, grid, 'nearest', 'border', False)
F.grid_sample(im, grid, mode='bicubic', padding_mode='reflection', align_corners=True)
F.grid_sample(im, grid, padding_mode='reflection', align_corners=True)
F.grid_sample(im, grid * float('nan'), padding_mode='border', align_corners=True)
F.grid_sample(im.unsqueeze(2), volume, align_corners=False)
F.grid_sample(im, grid[:1], align_corners=False)
F.grid_sample(im, grid[..., :1], align_corners=False)
F.grid_sample(im, grid, 'cubic')
F.grid_sample(im, grid, 'nearest', 'wrap')
F.grid_sample(im, grid.half(), align_corners=False)
F.grid_sample(im[:, :, :0], grid, align_corners=False)
F.affine_grid(theta, (2, 1, 2, 3), align_corners=False)
F.affine_grid(theta, [2, 1, 3, 1], align_corners=True)
F.affine_grid(torch.arange(12.).reshape(1, 3, 4) / 7, (1, 1, 2, 2, 3), align_corners=True)
F.affine_grid(theta, (2, 1, 2))
F.affine_grid(theta[0], (2, 1, 2, 2), False)
F.affine_grid(theta.long(), (2, 1, 2, 2), False)
F.affine_grid(theta, (2, 1, 0, 2), False)
F.max_unpool2d(*pooled, 2)
F.max_unpool2d(*pooled, 2, output_size=(4, 5))
F.max_unpool2d(*pooled, 2, output_size=(9, 9))
F.max_unpool1d(torch.tensor([[5., 7.]]), torch.tensor([[1, 2]]), 2)
nn.MaxUnpool2d(2)(*pooled, output_size=[4, 5])
repr(nn.MaxUnpool2d((2, 3), padding=1))
"""
LOSSES = """
[F.ctc_loss(x, labels, lengths, (2, 0, 3), reduction=r) for r in ('mean', 'sum', 'none')]
F.ctc_loss(x, torch.tensor([1, 2, 3, 3, 1]), torch.tensor(lengths), torch.tensor([2, 0, 3]), blank=0)
F.ctc_loss(x, labels, (6, 1, 2), (2, 1, 3), 3, 'none')
F.ctc_loss(x, labels, (6, 1, 2), (2, 1, 3), 3, 'none', True)
F.ctc_loss(x[:, 0], torch.tensor([1, 2]), (6,), (2,), reduction='none')
F.ctc_loss(x, labels, (0, 1, 2), (0, 1, 1), 0, 'none')
torch.ctc_loss(x, labels, lengths, (2, 2, 3), 0, 2)
nn.CTCLoss(blank=1, zero_infinity=True)(x, labels % 3, torch.tensor(lengths), torch.tensor([1, 1, 1]))
F.ctc_loss(x, labels, (6, 6), (2, 1, 3))
F.ctc_loss(x, labels, (7, 6, 6), (2, 1, 3))
F.ctc_loss(x, labels, (6, 6, -1), (2, 1, 3))
F.ctc_loss(x, labels, lengths, (2, 1, 4))
F.ctc_loss(x, labels[0], lengths, (2, 1, 1))
F.ctc_loss(x, labels, lengths, (2, 1, 3), 9)
F.ctc_loss(x, labels, lengths, (2, 1, 3), reduction='avg')
F.ctc_loss(x.long(), labels, lengths, (2, 1, 3))
F.multi_margin_loss(scores, classes)
F.multi_margin_loss(scores, classes, p=2, margin=0.5, weight=torch.tensor([1., 2., 0.5, 1.]), reduction='none')
nn.MultiMarginLoss(reduction='sum')(scores, classes)
F.multi_margin_loss(scores, classes, p=3)
F.multilabel_margin_loss(scores, many)
nn.MultiLabelSoftMarginLoss(reduction='none')(scores, (many > 0).float())
F.triplet_margin_with_distance_loss(scores, scores + 1, scores * 2, swap=True)
F.triplet_margin_with_distance_loss(scores, scores + 1, scores * 2, distance_function=torch.dist)
repr(nn.CTCLoss())
"""
SEQUENCES = """
packed
(packed.data, packed[1], len(packed), isinstance(packed, tuple))
rnn.pack_sequence(longest_first)
rnn.pack_sequence(sequences)
rnn.pad_sequence(sequences)
rnn.pad_sequence(sequences, batch_first=True, padding_value=-1.5, padding_side='left')
rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], True)
rnn.pad_sequence([])
rnn.pad_sequence(sequences, padding_side='up')
rnn.pad_sequence([torch.ones(2), torch.ones(3, 2)])
rnn.pad_packed_sequence(packed)
rnn.pad_packed_sequence(packed, batch_first=True, padding_value=9.0, total_length=6)
rnn.pad_packed_sequence(packed, total_length=2)
rnn.unpack_sequence(packed)
rnn.unpad_sequence(rnn.pad_sequence(sequences), torch.tensor([2, 4, 1]))
rnn.pack_padded_sequence(steps, [4, 2, 1])
rnn.pack_padded_sequence(steps.t(), torch.tensor([1, 4, 2]), True, False)
rnn.pack_padded_sequence(steps, [4, 2])
rnn.pack_padded_sequence(steps, [2, 4, 1])
rnn.pack_padded_sequence(steps, [4, 2, 0])
rnn.pack_padded_sequence(steps[:0], [])
parameters_to_vector(filled.parameters())
vector_to_parameters([1.0], filled.parameters())
vector_to_parameters(torch.ones(2), filled.parameters())
"""
CELLS = """
torch.manual_seed(3)
for net in (nn.LSTM(3, 4, 2, bidirectional=True), nn.GRU(3, 2, bias=False, num_layers=2),
            nn.RNN(3, 2, bidirectional=True), nn.RNN(3, 4, nonlinearity="relu", batch_first=True)):
    layers = net.num_layers * (2 if net.bidirectional else 1)
    h = torch.rand(layers, 3, net.hidden_size)
    for given in (packed, rnn.pack_sequence(longest_first)):
        for hx in (None, (h, h + 0.5) if net.mode == "LSTM" else h):
            y, last = net(given, hx)
            made = [y.data.detach()] + [x.detach() for x in (last if net.mode == "LSTM" else [last])]
            print([x.shape for x in made], [round(v, 4) for x in made for v in x.reshape(-1).tolist()])
            print(torch.equal(y.batch_sizes, given.batch_sizes), y.sorted_indices is given.sorted_indices)
    try:
        net(packed, (h[:, :2], h) if net.mode == "LSTM" else h[:, :2])
    except RuntimeError as error:
        print(net.mode, "refuses")
"""
PARAMETERS = """
torch.manual_seed(3)
for layer, bn in ((nn.Conv2d(2, 4, 3, bias=False), nn.BatchNorm2d(4)),
                  (nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3, affine=False)), (nn.Linear(3, 4), nn.BatchNorm1d(4))):
    bn.running_mean.uniform_()
    bn.running_var.uniform_(0.5, 2)
    fuse = fusion.fuse_linear_bn_eval if isinstance(layer, nn.Linear) else fusion.fuse_conv_bn_eval
    try:
        fuse(layer, bn)
    except AssertionError as error:
        print(error)
    layer.eval()
    fused = fuse(layer, bn.eval())
    values = [round(v, 4) for p in fused.parameters() for v in p.reshape(-1).tolist()]
    print(type(fused).__name__, fused is layer, values)
turned = nn.ConvTranspose1d(2, 3, 2).eval()
bn = nn.BatchNorm1d(3).eval()
print([round(v, 4) for v in fusion.fuse_conv_bn_eval(turned, bn, True).weight.reshape(-1).tolist()])
vector = torch.arange(6.)
vector_to_parameters(vector, filled.parameters())
vector[0] = 9
print(filled.weight.tolist(), filled.bias.tolist(), type(filled.weight) is nn.Parameter, nn.utils.rnn is rnn)
"""
SEQUENCE_SETUP = """
from torch import nn
import torch.nn.utils.rnn as rnn
from torch.nn.utils import fusion, parameters_to_vector, vector_to_parameters
sequences = [torch.arange(3. * n).reshape(n, 3).sin() for n in (2, 4, 1)]
longest_first = [sequences[k] for k in (1, 0, 2)]
packed = rnn.pack_sequence(sequences, enforce_sorted=False)
steps = torch.arange(12).reshape(4, 3)
filled = nn.Linear(2, 2).requires_grad_(False)
for p in filled.parameters():
    p.fill_(0.5)
"""
IMAGE_SETUP = """
from torch import nn
from torch.nn import functional as F
im = torch.arange(24.).reshape(2, 1, 3, 4).sin()
grid = torch.tensor([-1.2, -1., -0.4, 0.1, 0.5, 0.9, 1., 1.3, -0.2, 0.7, 2.6, -3.1]).repeat(2).reshape(2, 2, 3, 2)
volume = torch.cat([grid, grid[..., :1]], -1).unsqueeze(1)
theta = torch.tensor([[[1., 0.5, 0.1], [-0.2, 0.8, 0.]], [[0.5, 0., 0.], [0., 2., -1.]]])
pooled = F.max_pool2d(im.repeat(1, 1, 2, 1), 2, return_indices=True)
"""
LOSS_SETUP = """
from torch import nn
from torch.nn import functional as F
x = torch.arange(72.).reshape(6, 3, 4).sin().log_softmax(-1)
labels = torch.tensor([[1, 2, 0], [2, 2, 0], [3, 3, 1]])
lengths = (6, 5, 6)
scores = torch.arange(12.).reshape(3, 4).cos()
classes = torch.tensor([1, 3, 0])
many = torch.tensor([[1, 2, -1, 0], [3, -1, 0, 0], [-1, 1, 2, 3]])
"""


@pytest.mark.filterwarnings("ignore")  # of PyTorch's, about what will go
@pytest.mark.parametrize(("setup", "expressions"), [
    pytest.param(SETUP, MATRICES, id="matrices"),
    pytest.param("y = torch.arange(12.).reshape(3, 4).sin() * 2\nx = torch.tensor([0., 0.5, 2., 3.])\n"
                 "i = torch.arange(6).reshape(2, 3)", SIGNALS, id="signals"),
    pytest.param("types = [torch.bool, torch.uint8, torch.int8, torch.int64, torch.float16, torch.float32]", TYPES,
                 id="types"),
    pytest.param(IMAGE_SETUP, IMAGES, id="images"),
    pytest.param(LOSS_SETUP, LOSSES, id="losses"),
    pytest.param(SEQUENCE_SETUP, SEQUENCES, id="sequences"),
])
def test_values_and_words_are_those_of_pytorch(setup: str, expressions: str) -> None:
    assert differences(setup, expressions.strip().splitlines(), texts=True) == []


def test_windows_take_a_parameter_only_with_those_before_it() -> None:
    given = ("True", "False", "None", "3.0", "True, 0.3", "True, None", "True, 0.3, 0.2", "alpha=0.3", "beta=0.3",
             "periodic=False", "True, alpha=0.3", "True, beta=0.3", "periodic=True, beta=0.3", "periodic=None",
             "alpha=0.3, beta=0.2", "True, alpha=0.3, beta=0.2", "periodic=False, beta=0.0, dtype=torch.float16")
    names = ("hann", "hamming", "kaiser")
    assert differences("", [f"torch.{name}_window(8, {rest})" for name in names for rest in given]) == []


@pytest.mark.parametrize("script", [CELLS, PARAMETERS], ids=["cells", "parameters"])
def test_modules_make_what_those_of_pytorch_make(script: str) -> None:
    printed: list[str] = []
    text = f"import torch\n{SEQUENCE_SETUP}{script}"
    exec(text, {"print": lambda *items: printed.append(" ".join(map(str, items)))})
    numbers = re.compile(r"-?\d+\.\d+")
    ours = output(text).splitlines()
    assert [numbers.sub("#", line) for line in ours] == [numbers.sub("#", line) for line in printed]
    found, wanted = ([float(x) for x in numbers.findall(" ".join(lines))] for lines in (ours, printed))
    assert all(abs(a - b) <= 2e-4 for a, b in zip(found, wanted, strict=True))


REFUSED = """
import torch
from torch import _packed, nn
from torch.nn import functional as F
find = _packed._find

def without_parts(name, names, heads):
    if name != "_absent":
        return find(name, names, heads)
    names[name] = {text!r}
    return True

x = torch.eye(2)
for without in (False, True):
    if without:
        _packed._find = without_parts
    for text in ("torch.first", "torch.linalg.second", "x.first()", "x.first", "F.third", "nn.fourth", "torch.nothing",
                 "x.nothing", "torch.linalg.nothing", "F.nothing"):
        try:
            eval(text)
            print("found")
        except AttributeError as error:
            print(error)
    print(hasattr(x, "first"), hasattr(torch, "first"))
"""


def test_a_build_without_a_part_says_which_part_has_a_name() -> None:
    said = output(REFUSED.format(text="one first linalg_second;other nn_third torch.nn.fourth")).splitlines()
    missing = "module '{}' has no attribute '{}'".format
    nothing = [
        missing("torch", "nothing"), "'Tensor' object has no attribute 'nothing'", missing("torch.linalg", "nothing"),
        missing("torch.nn.functional", "nothing"), "False False",
    ]
    assert said[:2] == [missing("torch", "first"), missing("torch.linalg", "second")] and said[6:11] == nothing
    asked = "'{}' is not in this build: build it with `--with {}`"
    assert said[11:] == [
        asked.format("first", "one"), asked.format("second", "one"), asked.format("first", "one"),
        asked.format("first", "one"), asked.format("third", "other"), asked.format("fourth", "other"), *nothing,
    ]


def test_the_folder_of_a_build_without_parts_knows_them(tmp_path: Path) -> None:
    write_module(tmp_path, SMALL)
    assert "--with utils" in (tmp_path / "python" / "torch" / "nn" / "utils.py").read_text()
    write_module(tmp_path, SMALL.with_parts(["utils"]))
    utils = tmp_path / "python" / "torch" / "nn" / "utils"
    assert not utils.with_suffix(".py").exists() and (utils / "__init__.py").exists() and (utils / "rnn.py").exists()


def test_each_part_has_names_which_the_module_alone_does_not() -> None:
    small = {unit.name for unit in SMALL.units()}
    for part in PARTS:
        names = set(part_operators(part))
        assert names.isdisjoint(small) and names <= {unit.name for unit in SMALL.with_parts([part]).units()}
    assert SMALL.with_parts(["all"]) == TorchSelection()


def test_the_command_line_lists_every_part() -> None:
    options = selection_options(lambda: None).__click_params__  # type: ignore[attr-defined]
    text = next(option.help for option in options if option.name == "parts")
    assert f"{','.join(PARTS)}, or all" in text
