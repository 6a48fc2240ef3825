import _torch
from _torch import Parameter
from torch.nn.modules.module import Module


class RNNBase(Module):
    def __init__(
        self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
        bidirectional=False, proj_size=0, device=None, dtype=None,
    ):
        super().__init__()
        if not isinstance(hidden_size, int):
            raise TypeError("hidden_size should be of type int, got: " + type(hidden_size).__name__)
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        gates = {"LSTM": 4, "GRU": 3}.get(mode, 1) * hidden_size
        state = proj_size or hidden_size
        self._names = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                width = input_size if layer == 0 else state * (2 if bidirectional else 1)
                shapes = [("weight_ih", (gates, width)), ("weight_hh", (gates, state))]
                if bias:
                    shapes += [("bias_ih", (gates,)), ("bias_hh", (gates,))]
                if proj_size:
                    shapes.append(("weight_hr", (proj_size, hidden_size)))
                for name, shape in shapes:
                    name += "_l%d%s" % (layer, suffix)
                    self._names.append(name)
                    setattr(self, name, Parameter(_torch.empty(shape, dtype=dtype)))
        self.reset_parameters()

    def reset_parameters(self):
        bound = self.hidden_size**-0.5
        for value in self.parameters():
            value.uniform_(-bound, bound)

    def flatten_parameters(self):
        pass

    def _operator(self):
        return _torch.rnn_tanh if self.mode == "RNN_TANH" else _torch.rnn_relu

    def forward(self, input, hx=None):
        if not isinstance(input, _torch.Tensor):  # a PackedSequence
            return input._through(self, hx)
        if input.dim() not in (2, 3):
            raise ValueError("%s: Expected input to be 2D or 3D, got %dD instead" % (type(self).__name__, input.dim()))
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected %d, got %d" % (self.input_size, input.shape[-1])
            )
        lstm = self.mode == "LSTM"
        single = input.dim() == 2
        batch = 0 if self.batch_first else 1
        if single:
            input = input.unsqueeze(batch)
        if hx is None:
            layers = self.num_layers * (2 if self.bidirectional else 1)
            sizes = (self.proj_size or self.hidden_size, self.hidden_size)
            hx = [_torch.zeros((layers, input.shape[batch], n), dtype=input.dtype) for n in sizes[: 1 + lstm]]
        else:
            hx = list(hx) if lstm else [hx]
            if single:
                hx = [h.unsqueeze(1) for h in hx]
        y = self._operator()(
            input, hx if lstm else hx[0], [getattr(self, name) for name in self._names], self.bias, self.num_layers,
            self.dropout, self.training, self.bidirectional, self.batch_first,
        )
        output, states = y[0], list(y[1:])
        if single:
            output, states = output.squeeze(batch), [h.squeeze(1) for h in states]
        return output, tuple(states) if lstm else states[0]

    def extra_repr(self):
        text = "%s, %s" % (self.input_size, self.hidden_size)
        for name, usual in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != usual:
                text += ", %s=%s" % (name, getattr(self, name))
        return text


class RNN(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                "Unknown nonlinearity '%s'. Select from 'tanh' or 'relu'." % nonlinearity
            )
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)

    def _operator(self):
        return _torch.lstm


class GRU(RNNBase):
    def __init__(self, *args, **kwargs):
        super().__init__("GRU", *args, **kwargs)

    def _operator(self):
        return _torch.gru


class RNNCellBase(Module):
    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        for name, shape in (
            ("weight_ih", (gates, input_size)), ("weight_hh", (gates, hidden_size)), ("bias_ih", (gates,)),
            ("bias_hh", (gates,)),
        ):
            there = bias or name[0] == "w"
            self.register_parameter(name, Parameter(_torch.empty(shape, dtype=dtype)) if there else None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = self.hidden_size**-0.5 if self.hidden_size else 0
        for value in self.parameters():
            value.uniform_(-bound, bound)

    def _run(self, operator, input, hx):
        if input.dim() not in (1, 2):
            raise ValueError("%s: Expected input to be 1D or 2D, got %dD instead" % (type(self).__name__, input.dim()))
        lstm = isinstance(self, LSTMCell)
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if hx is None:
            hx = [_torch.zeros((input.shape[0], self.hidden_size), dtype=input.dtype)] * 2
        else:
            hx = [h.unsqueeze(0) if single else h for h in (hx if lstm else [hx])]
        y = operator(
            input, hx if lstm else hx[0], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        y = [h.squeeze(0) if single else h for h in (y if lstm else [y])]
        return tuple(y) if lstm else y[0]

    def extra_repr(self):
        text = "%s, %s" % (self.input_size, self.hidden_size)
        if self.bias is not True:
            text += ", bias=%s" % self.bias
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += ", nonlinearity=" + self.nonlinearity
        return text


class RNNCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError("Unknown nonlinearity: " + self.nonlinearity)
        return self._run(_torch.rnn_tanh_cell if self.nonlinearity == "tanh" else _torch.rnn_relu_cell, input, hx)


class LSTMCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return self._run(_torch.lstm_cell, input, hx)


class GRUCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._run(_torch.gru_cell, input, hx)
