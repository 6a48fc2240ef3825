# Rows of tables of torch.nn.functional.
import _torch


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    if max_norm is not None:
        renormed(input, weight, max_norm, norm_type)
    return _torch.embedding(weight, input)


def renormed(input, weight, max_norm, norm_type):
    rows = weight[input]
    norm = rows.norm(norm_type, -1, True)
    weight[input] = _torch.where(norm > max_norm, rows * (max_norm / (norm + 1e-7)), rows)


def embedding_bag(
    input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode="mean", sparse=False,
    per_sample_weights=None, include_last_offset=False, padding_idx=None,
):
    if input.dim() == 2:
        starts = list(range(0, input.numel() + 1, input.shape[1]))
        input = input.reshape(-1)
    else:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        starts = offsets.tolist() + ([] if include_last_offset else [input.numel()])
    if max_norm is not None:
        renormed(input, weight, max_norm, norm_type)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += weight.shape[0]
    rows = weight[input]
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    found = []
    for k in range(len(starts) - 1):
        bag = rows[starts[k] : starts[k + 1]]
        if padding_idx is not None:
            bag = bag[input[starts[k] : starts[k + 1]] != padding_idx]
        if bag.shape[0] == 0:
            found.append(weight.new_zeros((weight.shape[1],)))
        else:
            found.append(bag.amax(0) if mode == "max" else bag.sum(0) if mode == "sum" else bag.mean(0))
    return _torch.stack(found)
