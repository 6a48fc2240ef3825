# How an operator is called: its arguments are checked by their types in the schema, out= and the form in place are made
# from its result.
import _torch


def _wrap(name, head):
    forms, check, types = head.partition(":")
    forms, alias, found = forms.partition("=")
    outs = int(forms[-1])
    # PyTorch lets these results lie over their arguments anyhow, the next over all but the first
    free = name in (
        "diag", "triu", "tril", "masked_scatter", "logsumexp", "frobenius_norm", "norm", "nanmean", "nansum", "aminmax",
        "median", "nanmedian", "mode", "kthvalue", "quantile", "nanquantile", "log_sigmoid", "linalg_norm",
        "linalg_matrix_norm", "vdot",
    )
    last = 0 if free else 1 if name == "ldexp" else 99
    # and these may not even be an argument, but for the first
    apart = 1 if name in ("index_copy", "index_reduce", "scatter_reduce", "put") else 0 if name == "take_along_dim" else 99

    def checked(types):
        function = _names[name]
        known = [item.split("=") for item in types.split(",") if item]
        by_name = dict(known)

        def call(*args, **kwargs):
            out = kwargs.pop("out", None) if outs else None
            for k in range(min(2, len(known), len(args))):
                if known[k][1][0] == "*" and not (args[k] is None or isinstance(args[k], (tuple, list))):
                    args = args[:k] + (args[k:],)
                    break
            args = [_torch._check(name, known[k][0], known[k][1], x) if k < len(known) else x for k, x in enumerate(args)]
            for key in list(kwargs):
                x = kwargs.pop(key)
                key = {"axis": "dim", "keepdims": "keepdim"}.get(key, key)
                kwargs[key] = _torch._check(name, key, by_name[key], x) if key in by_name else x
            if outs == 1 and out is not None and "dtype" in by_name:
                kwargs["dtype"] = kwargs.get("dtype") or out.dtype
            y = function(*args, **kwargs)
            if out is None:
                return y
            both = list(zip((out,), (y,)) if outs == 1 else zip(out, y))
            if [t for t, x in both if t.shape != x.shape and [a for a in args if a is t]]:
                raise RuntimeError("unsupported operation: out= is the input, and of another shape than the result")
            read = (args + list(kwargs.values()))[:last]
            both = [_torch._into(t, x, False, read, apart) for t, x in both]
            return both[0] if outs == 1 else tuple(both)

        return call

    made = dict.fromkeys(forms, found if alias else checked(types) if check else _names[name])
    if "f" in made and "=*f" in types:  # a function of torch takes them as a list
        made["f"] = checked(types.replace("*", ""))
    if "i" in made:
        plain = made["i"]
        made["i"] = found + "_" if alias else (
            lambda self, *args, **kwargs: _torch._into(
                self, plain(self, *args, **kwargs), True, ((self,) + args + tuple(kwargs.values()))[:last], apart
            )
        )
    return made
