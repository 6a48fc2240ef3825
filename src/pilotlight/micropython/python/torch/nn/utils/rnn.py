# Sequences of different lengths: padded to one tensor, or packed, step after step.
import _torch
from collections import namedtuple


def invert_permutation(permutation):
    return None if permutation is None else permutation.argsort()


class PackedSequence(namedtuple("PackedSequence", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"))):
    def to(self, *args, **kwargs):
        return PackedSequence(self.data.to(*args, **kwargs), *self[1:])

    def cpu(self):
        return self

    # what recurrent layers make of it: the same for their outputs, and the last states
    def _through(self, layers, hx):
        data, sizes, order = self.data, self.batch_sizes.tolist(), self.sorted_indices
        if data.shape[-1] != layers.input_size or data.dim() != 2:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected %d, got %d" % (layers.input_size, data.shape[-1])
            )
        if layers.proj_size:
            raise NotImplementedError("recurrent layers with projections")
        lstm, ways = layers.mode == "LSTM", 2 if layers.bidirectional else 1
        wanted = (layers.num_layers * ways, sizes[0], layers.hidden_size)
        if hx is None:
            states = [_torch.zeros(wanted, dtype=data.dtype)] * (1 + lstm)
        else:
            states = list(hx) if lstm else [hx]
            for k, h in enumerate(states):
                if tuple(h.shape) != wanted:
                    what = "hidden[%d]" % k if lstm else "hidden"
                    raise RuntimeError("Expected %s size %s, got %s" % (what, wanted, list(h.shape)))
            if order is not None:
                states = [h.index_select(1, order) for h in states]
        names = layers._names
        each = len(names) // wanted[0]
        last = []
        for layer in range(layers.num_layers):
            if layer and layers.training and layers.dropout:
                data = _torch.dropout(data, layers.dropout, True)
            found = []
            for number in range(layer * ways, layer * ways + ways):
                weights = [getattr(layers, name) for name in names[number * each : number * each + each]]
                way = _backward if number % ways else _forward
                y, end = way(layers.mode, data, sizes, [h[number] for h in states], weights)
                found.append(_torch.cat(y))
                last.append(end)
            data = _torch.cat(found, 1) if ways == 2 else found[0]
        last = [_torch.stack([end[k] for end in last]) for k in range(1 + lstm)]
        if order is not None:
            last = [h.index_select(1, self.unsorted_indices) for h in last]
        return PackedSequence(data, *self[1:]), tuple(last) if lstm else last[0]


def _step(mode, x, states, weights):
    if mode == "LSTM":
        return list(_torch.lstm_cell(x, states, *weights))
    return [getattr(_torch, mode.lower() + "_cell")(x, states[0], *weights)]


# the outputs of the steps, and the last states: sequences that have ended keep theirs
def _forward(mode, data, sizes, now, weights):
    y, ends, at = [], [], 0
    for n in sizes:
        ends.insert(0, [h[n:] for h in now])
        now = _step(mode, data[at : at + n], [h[:n] for h in now], weights)
        y.append(now[0])
        at += n
    ends.insert(0, now)
    return y, [_torch.cat([end[k] for end in ends]) for k in range(len(now))]


# from the last step on, sequences begin one after the other
def _backward(mode, data, sizes, first, weights):
    y, now, at = [], [h[:0] for h in first], len(data)
    for n in reversed(sizes):
        now = [_torch.cat([h, start[len(h) : n]]) for h, start in zip(now, first)]
        now = _step(mode, data[at - n : at], now, weights)
        y.insert(0, now[0])
        at -= n
    return y, now


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    lengths = lengths.long() if isinstance(lengths, _torch.Tensor) else _torch.tensor(lengths, dtype=_torch.int64)
    order = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    steps = input.transpose(0, 1) if batch_first else input
    if lengths.dim() != 1:
        raise RuntimeError(
            "'lengths' argument should be a 1D CPU int64 tensor, but got %dD cpu Long tensor" % lengths.dim()
        )
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if len(lengths) != steps.size(1):
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got %d (batch_size=%d)"
            % (len(lengths), steps.shape[1])
        )
    counts = lengths.tolist()
    if counts[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    for k in range(1, len(counts)):
        if counts[k] > counts[k - 1]:
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
                "do not need ONNX exportability."
            )
    if counts[0] > len(steps):
        raise RuntimeError("a length is %d, and the sequences have %d steps" % (counts[0], len(steps)))
    sizes = [len([n for n in counts if n > k]) for k in range(counts[0])]
    data = _torch.cat([steps[k, :n] for k, n in enumerate(sizes)])
    return PackedSequence(data, _torch.tensor(sizes), order, invert_permutation(order))


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    sizes = sequence.batch_sizes.tolist()
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                "total_length=%d and max sequence length being %d" % (total_length, steps)
            )
        steps = total_length
    data = sequence.data
    y = data.new_full([steps, sizes[0]] + list(data.shape[1:]), padding_value)
    at = 0
    for k, n in enumerate(sizes):
        y[k, :n].copy_(data[at : at + n])
        at += n
    lengths = _torch.tensor([len([n for n in sizes if n > k]) for k in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        y = y.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return y.transpose(0, 1) if batch_first else y, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    try:
        sequences = list(sequences)
    except TypeError:
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: " + str(type(sequences))
        )
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError("Expected padding_side to be one of left or right, but got " + padding_side + ".")
    longest = max([x.size(0) for x in sequences])
    y = sequences[0].new_full([len(sequences), longest] + list(sequences[0].shape[1:]), padding_value)
    for k, x in enumerate(sequences):
        n = len(x)
        (y[k, :n] if padding_side == "right" else y[k, longest - n :]).copy_(x)
    return y if batch_first else y.transpose(0, 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    if not batch_first:
        padded_sequences = padded_sequences.transpose_(0, 1)
    return [x[:n].clone() for x, n in zip(padded_sequences, lengths.tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    lengths = [x.size(0) for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    padded, lengths = pad_packed_sequence(packed_sequences, True)
    return unpad_sequence(padded, lengths, True)
