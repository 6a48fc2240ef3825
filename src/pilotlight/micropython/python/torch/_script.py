# What the code of a TorchScript archive can name: torch, ops, types and a few functions.
import _torch
import torch

_SCRIPT_TYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64", "complex128",
    "bool", "qint8", "quint8", "qint32", "bfloat16",
)
# numbers, text and lists: signs of operators
_SCRIPT_SIGNS = "add + sub - mul * floordiv // remainder % eq == ne != lt < le <= gt > ge >= __lshift__ << __rshift__ >>"
# functions of torch that are no operators
_SCRIPT_SHUT = (
    "load save compile typename is_storage set_default_dtype use_deterministic_algorithms set_printoptions Parameter"
)
# operators whose results are lists
_SCRIPT_LISTS = "chunk split split_with_sizes unsafe_split unsafe_chunk unbind meshgrid tensor_split broadcast_tensors"


# all names of an archive; those of Python that are not here are shut
def _script_names(archive):
    import builtins

    names = dict.fromkeys(dir(builtins), _no_name)
    ops = _Nothing()
    ops.prim, ops.aten = _ScriptOperators(_SCRIPT_PRIM), _ScriptOperators(_SCRIPT_OWN)
    names.update({
        "torch": ops.aten, "ops": ops, "CONSTANTS": _Nothing(), "__torch__": archive.root, "Module": _Scripted,
        "ModuleInterface": _ScriptInterface, "Interface": _ScriptInterface, "Enum": _ScriptEnum,
        "annotate": lambda kind, value: value, "unchecked_cast": lambda kind, value: value,
        "uninitialized": lambda kind: None, "isinstance": lambda value, kind: _script_is(archive, value, kind),
        "inf": float("inf"), "nan": float("nan"), "range": range, "sorted": sorted, "getattr": _script_attribute,
        "int": int, "float": float, "bool": bool,
        "str": _script_text, "print": lambda *values: print(*[_script_text(v) for v in values]),
        "__dtype": _script_dtype, "__dict": lambda *items: _script_dict(archive, items),
        "fork": lambda function, *args: function(*args),
    })
    return names


def _no_name(*args, **kwargs):
    raise RuntimeError("the archive's code uses a name that TorchScript does not have")


def _script_dict(archive, items):
    made = archive.new_dict()
    for k in range(0, len(items), 2):
        made[items[k]] = items[k + 1]
    return made


def _script_attribute(it, name):
    if not isinstance(it, _Scripted) or name[:2] == "__":
        _no_name()
    return getattr(it, name)


def _script_is(archive, value, text):
    text = text.strip()
    try:
        made = archive.to_script(value, _parsed("Union[" + text[1:-1] + "]" if text[0] in "([" else text))
    except ValueError:
        return False
    return _alike(value, made)


def _alike(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        a, b = list(a.items()), list(b.items())
    return type(a) is type(b) and (
        not isinstance(a, (list, tuple)) or all([_alike(x, y) for x, y in zip(a, b)])
    )


def _script_dtype(number):
    if number is None:
        return None
    name = _SCRIPT_TYPES[number]
    if not hasattr(_torch, name):
        raise RuntimeError("torch.%s is a type that there is not here" % name)
    return getattr(_torch, name)


# as 64 bits have it
def _wrapped(x):
    if type(x) is int and not -1 << 63 <= x < 1 << 63:
        return (x + (1 << 63) & (1 << 64) - 1) - (1 << 63)
    return x


# ---- text ----


def _script_text(x):
    if isinstance(x, (list, tuple)):
        shown = ", ".join([_script_text(v) for v in x])
        return "[" + shown + "]" if isinstance(x, list) else "(" + shown + ("," if len(x) == 1 else "") + ")"
    if isinstance(x, dict):
        return "{" + ", ".join([_script_text(k) + ": " + _script_text(v) for k, v in x.items()]) + "}"
    return _script_float(x) if isinstance(x, float) else str(x)


# all 17 digits, which MicroPython itself rounds
def _script_float(x):
    from struct import pack, unpack

    if x != x or x - x != 0:
        return "nan" if x != x else "inf" if x > 0 else "-inf"
    if -1 << 63 <= int(x) < 1 << 63 and int(x) == x:
        return str(int(x)) + "."
    bits = unpack("<Q", pack("<d", abs(x)))[0]
    power = (bits >> 52 or 1) - 1075
    top = (bits & (1 << 52) - 1 | (bits >> 52 and 1 << 52)) << max(power, 0)
    low = 1 << max(-power, 0)
    ten = len(str(top // low)) - 1 if top >= low else -len(str(low // top))
    ten += top * 10 ** max(-ten, 0) >= low * 10 ** max(ten, 0) * 10
    a, b = top * 10 ** max(16 - ten, 0), low * 10 ** max(ten - 16, 0)
    digits = (2 * a + b) // (2 * b)
    digits -= 2 * a % (2 * b) == b and digits & 1
    if digits == 10**17:
        digits, ten = 10**16, ten + 1
    text = str(digits)
    sign = "-" if x < 0 else ""
    if not -5 < ten < 17:
        return "%s%se%s%02d" % (sign, (text[0] + "." + text[1:]).rstrip("0").rstrip("."), "-" if ten < 0 else "+", abs(ten))
    text = text[: ten + 1] + "." + text[ten + 1 :] if ten >= 0 else "0." + "0" * (-ten - 1) + text
    text = text.rstrip("0")
    return sign + text


def _script_format(text, *values):
    parts = text.split("{}")
    if len(values) < len(parts) - 1:
        raise RuntimeError("Too few arguments for format string: " + text)
    shown = [_script_text(v) for v in values]
    return "".join([part + (shown[k] if k < len(parts) - 1 else "") for k, part in enumerate(parts)])


def _script_percent(text, values):
    values = list(values) if isinstance(values, tuple) else [values]
    first, *parts = text.replace("%%", "\0").split("%")
    if len(values) != len(parts):
        raise RuntimeError("Too %s arguments for format string" % ("few" if len(values) < len(parts) else "many"))
    for value, part in zip(values, parts):
        c = part[:1]
        if c not in "sdifec" or not c:
            raise RuntimeError("The specifier %%%s is not supported in TorchScript format strings" % c)
        if c in "sc":
            first += _script_text(value)
        else:
            first += str(int(value)) if c in "di" else ("%" + c) % value
        first += part[1:]
    return first.replace("\0", "%")


# ---- torch.name ----


# Operators by name. Where PyTorch has an operator for tensors and one for numbers or containers, the first argument
# decides.
class _ScriptOperators:
    def __init__(self, table):
        self._table = table

    def __getattr__(self, name):
        found = _script_entry(self._table, name) or _script_operator(name)
        setattr(self, name, found)
        return found


# The value of a name in a table: source text takes less room than bytecode, and most of it is never needed.
def _script_entry(table, name):
    at = table.find("\n" + name + " ")
    return eval(table[at + len(name) + 2 : table.find("\n", at + 1)], _names) if at >= 0 else None


def _script_operator(name):
    tensors = _script_tensors(name)
    others = _script_others(name)
    if not tensors and not others:
        raise NotImplementedError("torch.%s is not in this build of torch" % name)
    if not tensors or not others:
        return tensors or others

    def call(first, *args, **kwargs):
        if isinstance(first, _torch.Tensor) or args and isinstance(args[0], _torch.Tensor) and isinstance(first, (int, float)):
            return tensors(first, *args, **kwargs)
        return others(first, *args)

    return call


# sizes and scales as lists, of which one is None
def _script_upsample(name):
    def call(x, size, *args):
        args = list(args)
        if size is None or len(args) == (1 if "nearest" in name else 2) and (args[-1] is None or isinstance(args[-1], list)):
            scales = args.pop()
            size = [int(n * s) for n, s in zip(x.shape[2:], scales)] if size is None else size
            args += scales or []
        return getattr(_torch._nn, name)(x, size, *args)

    return call


def _script_tensors(name):
    if name[:9] == "upsample_":
        return _script_upsample(name)
    if name[0] == "_" or name[:4] in ("jit_", "safe") or name in _SCRIPT_SHUT.split():
        return None
    for where in (_torch, _torch._nn):
        if hasattr(where, name):
            found = getattr(where, name)
            return (lambda *args, **kwargs: list(found(*args, **kwargs))) if name in _SCRIPT_LISTS.split() else found
    if hasattr(_torch.empty(0), name):
        return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


def _script_others(name):
    import math

    words = _SCRIPT_SIGNS.split()
    if name in words:
        return eval("lambda a, b: _wrapped(a %s b)" % words[words.index(name) + 1], _names)
    found = _script_entry(_SCRIPT_NUMBERS, name)
    if found:
        return found
    if hasattr(math, name):
        compute = getattr(math, name)

        def call(*args):
            try:
                return compute(*args)
            except (ValueError, ZeroDivisionError):
                return float("-inf") if name[:3] == "log" and args[0] == 0 else float("nan")

        return call
    if name[0] != "_":
        for kind in ([], {}, ""):
            if hasattr(kind, name):
                return lambda x, *args: getattr(x, name)(*args)


def _script_gcd(a, b):
    while b:
        a, b = b, a % b
    return abs(a)


def _script_div(a, b):
    if b == 0:
        return float("nan") if a == 0 or a != a else float("inf") if a > 0 else float("-inf")
    return a / b


def _script_least(choose, a, b):
    found = choose(a) if b is None else choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else found


def _script_raise(message="", kind="RuntimeError"):
    raise jit_Error("%s: %s" % (kind, message))


def _script_slice(x, *args):
    if isinstance(x, _torch.Tensor):
        dim, start, end, step = args + (0, None, None, 1)[len(args) :]
        return x.transpose(0, dim)[start:end:step].transpose(0, dim) if dim else x[start:end:step]
    start, end, step = args + (None, None, 1)[len(args) :]
    if isinstance(x, str) and step != 1:
        return "".join([x[k] for k in range(len(x))[start:end:step]])
    return x[start:end:step]


def _script_to(x, *args, dtype=None, **kwargs):
    flags = [a for a in args if isinstance(a, bool)]
    for a in args:
        if isinstance(a, _torch.Tensor):
            dtype = a.dtype
        elif type(a) is int and dtype is None:
            dtype = _script_dtype(a)
    return x.to(dtype or x.dtype, copy=kwargs.get("copy", flags[1:2] == [True]))


def _script_set(x, key, value):
    x[key] = value
    return x


def _script_extend(x, more):
    (x.add_ if isinstance(x, _torch.Tensor) else x.extend)(more)
    return x


def _script_find(name):
    return lambda x, what, start=0, end=-1: getattr(x, name)(what, start, len(x) if end == -1 else end)


# what tracing leaves of attention and of a whole layer of a transformer
def _script_attention(x, key, value, width, heads, weight, bias, out_weight, out_bias, mask=None, weights=True, *_):
    if mask is not None or weights or not (x is key and key is value):
        raise NotImplementedError("fused attention with a mask or weights")
    nn = _torch._nn
    shape = x.shape[:2] + (heads, -1)
    parts = [p.reshape(shape).transpose(1, 2) for p in nn.linear(x, weight, bias).chunk(3, -1)]
    return nn.linear(nn.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(x.shape), out_weight, out_bias), None


def _script_encoder(x, width, heads, w, b, out_w, out_b, gelu, norm_first, eps, *rest):
    nn = _torch._nn
    mask = rest[8] if len(rest) > 8 else None
    for k in (0, 1):
        y = _torch.layer_norm(x, (width,), rest[2 * k], rest[2 * k + 1], eps) if norm_first else x
        if k:
            y = nn.linear(y, rest[4], rest[5])
            y = nn.linear(nn.gelu(y) if gelu else y.relu(), rest[6], rest[7])
        else:
            y = _script_attention(y, y, y, width, heads, w, b, out_w, out_b, mask, False)[0]
        x = x + y
        if not norm_first:
            x = _torch.layer_norm(x, (width,), rest[2 * k], rest[2 * k + 1], eps)
    return x


# Lines of names and values. For numbers, text and containers, where there is an operator for tensors as well:
_SCRIPT_NUMBERS = """
div _script_div
neg lambda a: _wrapped(-a)
pow lambda a, b: float(a) ** b
sum sum
any any
all all
floor lambda a: int(a // 1)
ceil lambda a: -int(-a // 1)
round lambda a: float(round(a))
abs abs
sort lambda x, reverse=False: x.sort(reverse=reverse)
copy lambda x: x.copy()
hex hex
oct oct
bin bin
ord ord
chr chr
divmod divmod
gcd _script_gcd
ljust lambda x, n, fill=" ": x + fill * (n - len(x))
rjust lambda x, n, fill=" ": fill * (n - len(x)) + x
capitalize lambda x: x[:1].upper() + x[1:].lower()
"""
# for everything that they take
_SCRIPT_OWN = """
size lambda x, dim=None: list(x.shape) if dim is None else x.shape[dim]
stride lambda x, dim=None: list(x.stride()) if dim is None else x.stride(dim)
len len
slice _script_slice
to _script_to
format _script_format
percentFormat _script_percent
_set_item _script_set
__delitem__ lambda x, key: x.pop(key)
Delete lambda x, key: x.pop(key)
__getitem__ lambda x, key: x[key]
__contains__ lambda x, key: key in x
__is__ lambda a, b: a is b
__isnot__ lambda a, b: a is not b
__not__ lambda a: not a
__and__ lambda a, b: bool(a & b) if a is True or a is False else a & b
__or__ lambda a, b: bool(a | b) if a is True or a is False else a | b
__xor__ lambda a, b: bool(a ^ b) if a is True or a is False else a ^ b
list list
keys lambda x: list(x.keys())
values lambda x: list(x.values())
items lambda x: list(x.items())
add_ _script_extend
find _script_find("find")
rfind _script_find("rfind")
expand lambda x, sizes, implicit=False: x.expand(sizes)
__range_length lambda start, end, step: len(range(start, end, step))
__derive_index lambda k, start, step: start + k * step
_convolution lambda x, w, b, *how: _torch.convolution(x, w, b, *how[:6])
_convolution_mode lambda x, w, *how: getattr(_torch, "conv%dd" % (w.dim() - 2))(x, w, *how)
softmax lambda x, dim, dtype=None: _torch.softmax(x, dim, _script_dtype(dtype))
log_softmax lambda x, dim, dtype=None: _torch.log_softmax(x, dim, _script_dtype(dtype))
is_autocast_enabled lambda *kind: False
is_autocast_cpu_enabled lambda *kind: False
warn lambda *text: None
_unwrap_optional lambda x: x
wait lambda x: x
_shape_as_tensor lambda x: _torch.tensor(list(x.shape))
numel lambda x: x.numel()
numpy_T lambda x: x.permute(list(range(x.dim()))[::-1])
is_nonzero bool
cartesian_prod lambda x: _torch.cartesian_prod(*x)
_unique2 lambda x, *how: _torch.unique(x, True, True, True)
tensordot lambda a, b, dims, others: _torch.tensordot(a, b, (dims, others))
_native_multi_head_attention _script_attention
_transformer_encoder_layer_fwd _script_encoder
"""
_SCRIPT_PRIM = """
dtype lambda x: _SCRIPT_TYPES.index(str(x.dtype)[6:])
device lambda x: x.device
layout lambda x: 0
is_cuda lambda x: False
is_sparse lambda x: False
is_quantized lambda x: False
is_nested lambda x: False
requires_grad lambda x: x.requires_grad
shape lambda x: list(x.shape)
ndim lambda x: x.dim()
data lambda x: x.detach()
NumToTensor lambda x: _torch.tensor(x)
RaiseException _script_raise
min lambda a, b=None: _script_least(min, a, b)
max lambda a, b=None: _script_least(max, a, b)
abs abs
type lambda x: x.type
unchecked_unwrap_optional lambda x: x
itemsize lambda x: x.element_size()
EnumName lambda x: x.name
EnumValue lambda x: x.value
rangelist lambda n: list(range(n))
tolist lambda x, *kind: x.tolist()
"""
