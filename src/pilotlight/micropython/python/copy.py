from collections import OrderedDict


def copy(value):
    if isinstance(value, (int, float, str, bytes, tuple, bool)) or value is None:
        return value
    if isinstance(value, dict):
        return type(value)(value.items()) if isinstance(value, OrderedDict) else value.copy()
    if isinstance(value, (list, set)):
        return value.copy()
    if hasattr(value, "__dict__"):
        made = object.__new__(type(value))
        for name, item in value.__dict__.items():
            object.__setattr__(made, name, copy(item) if isinstance(item, OrderedDict) else item)
        return made
    return value.clone() if hasattr(value, "clone") else value


def deepcopy(value, memo=None):
    memo = {} if memo is None else memo
    if id(value) not in memo:
        # the original is kept as well: another object must not get its id meanwhile
        memo[id(value)] = (_deep(value, memo), value)
    return memo[id(value)][0]


def _deep(value, memo):
    kind = type(value)
    if hasattr(value, "__deepcopy__"):
        return value.__deepcopy__(memo)
    if isinstance(value, OrderedDict):
        return OrderedDict([(k, deepcopy(v, memo)) for k, v in value.items()])
    if kind is dict:
        return dict([(k, deepcopy(v, memo)) for k, v in value.items()])
    if kind in (list, tuple, set):
        return kind([deepcopy(v, memo) for v in value])
    if hasattr(value, "requires_grad"):
        new = value.detach().clone()
        if hasattr(kind, "__mro__") or kind.__name__ == "Parameter":
            return kind(new, value.requires_grad)
        return new.requires_grad_(value.requires_grad)
    if hasattr(value, "__dict__") and not isinstance(value, type) and not callable(getattr(value, "__name__", None)):
        made = object.__new__(kind)
        memo[id(value)] = (made, value)
        for name, item in value.__dict__.items():
            object.__setattr__(made, name, deepcopy(item, memo))
        return made
    return value
