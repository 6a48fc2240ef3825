import _torch
from _torch import Parameter
from torch.nn import functional
from torch.nn.modules.linear import _parameters
from torch.nn.modules.module import Module


class Identity(Module):
    def forward(self, input):
        return input


class Embedding(Module):
    _arguments = (
        ("padding_idx", None), ("max_norm", None), ("norm_type", 2.0), ("scale_grad_by_freq", False), ("sparse", False)
    )

    def __init__(
        self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
        sparse=False, _weight=None, _freeze=False, device=None, dtype=None,
    ):
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise AssertionError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self._keep(num_embeddings, embedding_dim, _weight, _freeze, dtype, padding_idx, max_norm, norm_type,
                   scale_grad_by_freq, sparse)

    def _keep(self, num_embeddings, embedding_dim, weight, freeze, dtype, *values):
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        for (name, _), value in zip(self._arguments, values):
            setattr(self, name, value)
        if weight is not None:
            if tuple(weight.shape) != (num_embeddings, embedding_dim):
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(weight, not freeze)
        else:
            self.weight = Parameter(_torch.empty((num_embeddings, embedding_dim), dtype=dtype), not freeze)
            self.reset_parameters()

    def reset_parameters(self):
        self.weight.normal_()
        if self.padding_idx is not None:
            self.weight[self.padding_idx].fill_(0)

    def forward(self, input):
        return functional.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extra_repr(self):
        text = "%s, %s" % (self.num_embeddings, self.embedding_dim)
        for name, usual in self._arguments:
            value = getattr(self, name)
            if value != usual or name == "mode":
                text += ", %s=%s" % (name, repr(value) if name == "mode" else True if value is True else value)
        return text

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, **kwargs):
        rows, columns = embeddings.shape
        return cls(rows, columns, _weight=embeddings, _freeze=freeze, padding_idx=padding_idx, **kwargs)


class EmbeddingBag(Embedding):
    _arguments = (
        ("max_norm", None), ("norm_type", 2.0), ("scale_grad_by_freq", False), ("mode", None), ("padding_idx", None)
    )

    def __init__(
        self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
        sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None,
    ):
        Module.__init__(self)
        if padding_idx is not None:
            padding_idx %= num_embeddings
        self.sparse, self.include_last_offset = sparse, include_last_offset
        self._keep(num_embeddings, embedding_dim, _weight, False, dtype, max_norm, norm_type, scale_grad_by_freq, mode,
                   padding_idx)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )


class Bilinear(Module):
    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        if in1_features <= 0:
            raise ValueError("in1_features must be > 0, but got %s" % in1_features)
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        _parameters(self, dtype, bias and (out_features,), (out_features, in1_features, in2_features))
        self.reset_parameters()

    def reset_parameters(self):
        bound = self.in1_features**-0.5
        self.weight.uniform_(-bound, bound)
        if self.bias is not None:
            self.bias.uniform_(-bound, bound)

    def forward(self, input1, input2):
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        return "in1_features=%s, in2_features=%s, out_features=%s, bias=%s" % (
            self.in1_features, self.in2_features, self.out_features, self.bias is not None
        )


class PReLU(Module):
    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(_torch.full((num_parameters,), init, dtype=dtype or _torch.float32))

    def forward(self, input):
        return functional.prelu(input, self.weight)

    def extra_repr(self):
        return "num_parameters=" + str(self.num_parameters)
