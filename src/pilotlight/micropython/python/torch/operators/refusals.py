# What PyTorch says of the most frequent arguments that do not fit together; words.py has more.


# `name`: of an operator in C, `args`: its arguments, with lists of numbers as sizes; nothing where it has no better
# words
def _for_refuse(name, *args):
    a, b = args[0], args[1] if len(args) > 1 else None
    if name in ("mm", "matmul", "linear"):
        b = b.t() if name == "linear" and b.dim() == 2 else b
        rows, m = 1, a.dim()
        if b.dim() == 2 and (m == 2 or m and name != "mm") and a.shape[-1] != len(b):
            for size in a.shape[:-1]:
                rows *= size
            raise RuntimeError(
                "mat1 and mat2 shapes cannot be multiplied (%dx%d and %dx%d)" % (rows, a.shape[-1], len(b), b.shape[1]))
    elif name == "cat":
        first = None
        for number, t in enumerate(a):
            if t.dim() and tuple(t.shape) != (0,):
                first = t if first is None else first
                for d, size in enumerate(t.shape):
                    if t.dim() == first.dim() and d != b % t.dim() and size != first.shape[d]:
                        raise RuntimeError(
                            "Sizes of tensors must match except in dimension %d. Expected size %d but got size %d for "
                            "tensor number %d in the list." % (b % t.dim(), first.shape[d], size, number))
