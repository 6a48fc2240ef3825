# Sums over dimensions that tensors share: einsum, tensordot.
import _torch


def _product(sizes):
    total = 1
    for size in sizes:
        total *= size
    return total


def _letters(text, count, rank):
    # an ellipsis stands for as many upper-case letters as there are dimensions left
    if "..." in text:
        more = rank - len(text) + 3
        text = text.replace("...", "".join([chr(64 + more - k) for k in range(more)]))
    if len(text) != rank:
        raise RuntimeError(
            "einsum(): the number of subscripts in the equation (%d) %s the number of dimensions (%d) for operand %d%s"
            % (len(text), "is more than" if len(text) > rank else "does not match", rank, count,
               "" if len(text) > rank else " and no ellipsis was given")
        )
    return text


def _arrange(x, have, want):
    # dimensions in the order of `want`; what is in `have` alone is summed, what is in `want` alone has length 1
    for k in range(len(have) - 1, -1, -1):
        if have[k] in have[:k]:
            at = have.index(have[k])
            x = x.diagonal(0, at, k)
            have = have[:at] + have[at + 1 : k] + have[k + 1 :] + have[at]
    gone = [k for k in range(len(have)) if have[k] not in want]
    if gone:
        x = x.sum(gone)
        have = "".join([c for c in have if c in want])
    x = x.permute([have.index(c) for c in want if c in have])
    for k in range(len(want)):
        if want[k] not in have:
            x = x.unsqueeze(k)
    return x


def _pair(a, la, b, lb, keep):
    # sum over the letters of both that nobody needs any more: one bmm
    both = [c for c in la if c in lb]
    batch = "".join([c for c in both if c in keep])
    summed = "".join([c for c in both if c not in keep])
    left = "".join([c for c in la if c not in lb and c in keep])
    right = "".join([c for c in lb if c not in la and c in keep])
    sizes = {}
    for letters, x in ((la, a), (lb, b)):
        for k in range(len(letters)):
            c, size = letters[k], x.shape[k]
            if sizes.get(c, 1) != 1 and size not in (1, sizes[c]):
                raise RuntimeError("einsum(): operands do not broadcast with remapped shapes [original->remapped]")
            sizes[c] = max(size, sizes.get(c, 1)) if size else 0

    def matrix(x, have, first, second):
        x = _arrange(x, have, batch + first + second)
        x = x.expand([sizes[c] for c in batch + first + second])
        return x.reshape([_product([sizes[c] for c in part]) for part in (batch, first, second)])

    x, y = matrix(a, la, left, summed), matrix(b, lb, summed, right)
    if x.dtype is not y.dtype and not (x.is_floating_point() or y.is_floating_point()):  # one is a sum already
        x, y = x.long(), y.long()
    return x.bmm(y).reshape([sizes[c] for c in batch + left + right]), batch + left + right


def einsum(equation, *operands):
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    left, arrow, result = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise RuntimeError(
            "einsum(): %s operands were provided than specified in the equation"
            % ("more" if len(operands) > len(inputs) else "fewer")
        )
    wide = 0
    for k, text in enumerate(inputs):
        if "..." in text:
            wide = max(wide, operands[k].dim() - len(text) + 3)
        inputs[k] = _letters(text, k, operands[k].dim())
    whole = "".join(inputs)
    dots = "".join([chr(64 + wide - k) for k in range(wide)])
    if arrow:
        result = result.replace("...", dots)
    else:
        result = dots + "".join([c for c in sorted(set(whole)) if whole.count(c) == 1 and c not in dots])
    for c in result:
        if c not in whole:
            raise RuntimeError("einsum(): output subscript %s does not appear in the equation for any input operand" % c)
    x, have = operands[0], inputs[0]
    have, x = "".join(sorted(set(have))), _arrange(x, have, "".join(sorted(set(have))))
    for k in range(1, len(inputs)):
        x, have = _pair(x, have, _arrange(operands[k], inputs[k], "".join(sorted(set(inputs[k])))),
                        "".join(sorted(set(inputs[k]))), result + "".join(inputs[k + 1 :]))
    return _arrange(x, have, result)


def tensordot(a, b, dims=2, out=None):
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.dim(), b.dim()):
            raise RuntimeError("tensordot: dims must not be negative, nor more than there are dimensions")
        dims = (list(range(a.dim() - dims, a.dim())), list(range(dims)))
    da, db = [[_dim(d, x.dim()) for d in _ints(own)] for own, x in zip(dims, (a, b))]
    if not len(da) == len(db) == len(set(da)) == len(set(db)):
        raise RuntimeError("tensordot: both lists of dims must have the same length, without repetition")
    for i, j in zip(da, db):
        if a.shape[i] == 1:
            b = b.sum(j, True, dtype=b.dtype)
        elif b.shape[j] == 1:
            a = a.sum(i, True, dtype=a.dtype)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                "contracted dimensions need to match, but first has size %d in dim %d and second has size %d in dim %d"
                % (a.shape[i], i, b.shape[j], j)
            )
    fa = [d for d in range(a.dim()) if d not in da]
    fb = [d for d in range(b.dim()) if d not in db]
    sizes = [a.shape[d] for d in fa] + [b.shape[d] for d in fb]
    n = _product([a.shape[d] for d in da])
    a = a.permute(fa + da).reshape(_product(sizes[: len(fa)]), n)
    y = a.mm(b.permute(db + fb).reshape(n, _product(sizes[len(fa) :]))).reshape(sizes)
    return y if out is None else _torch._into(out, y, False)


def cartesian_prod(*tensors):
    if len(tensors) == 1:
        return tensors[0]
    return _torch.stack([t.reshape(-1) for t in _torch.meshgrid(tensors, indexing="ij")], 1)
