"""Schemas of what PyTorch binds by hand: `f` stands for a function of the module, `m` for a method, `o` for out=.

`Storage` is any Python object. The overloads have names of their own here, so that tables can tell them apart.
What Python itself does with tensors (print, float, indexing) is here too, so that a selection can leave it out.
"""

from __future__ import annotations

# What +, -, <, ... call.
PYTHON_OPERATORS = frozenset(name + place for place in ("", "_") for name in (
    "lt", "gt", "eq", "le", "ge", "ne", "bitwise_or", "bitwise_xor", "bitwise_and", "bitwise_left_shift",
    "bitwise_right_shift", "add", "sub", "mul", "floor_divide", "div", "remainder", "pow", "matmul", "rsub",
))

_CASTS = ("float", "half", "bfloat16", "bool", "byte", "char", "short", "int", "long")

BY_HAND: tuple[str, ...] = (
    "f tensor(Storage data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
    "m new_tensor(Tensor self, Storage data, *, ScalarType? dtype=None, Device? device=None, "
    "bool requires_grad=False) -> Tensor",
    "f as_tensor(Storage data, ScalarType? dtype=None, Device? device=None) -> Tensor",
    "f asarray(Storage obj, *, ScalarType? dtype=None, Device? device=None, bool? copy=None, "
    "bool requires_grad=False) -> Tensor",
    "f frombuffer(Storage buffer, *, ScalarType dtype, int count=-1, int offset=0, bool requires_grad=False) -> Tensor",
    "m to.any(Tensor self, Device? device=None, ScalarType? dtype=None, bool non_blocking=False, bool copy=False, *, "
    "MemoryFormat? memory_format=None) -> Tensor",
    "m type.any(Tensor self, Storage? dtype=None, bool non_blocking=False) -> Tensor",
    "m cpu(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    "m size.any(Tensor self, int? dim=None) -> Tensor",
    "m stride.any(Tensor self, int? dim=None) -> Tensor",
    "fm numel(Tensor self) -> Tensor",
    *(f"m {name}(Tensor self) -> Tensor" for name in (
        "nelement", "tolist", "dim", "ndimension", "element_size", "storage_offset", "data_ptr",
    )),
    "m is_contiguous.any(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
    "f manual_seed(Scalar seed) -> Tensor",
    "f seed() -> Tensor",
    "f initial_seed() -> Tensor",
    "f get_rng_state() -> Tensor",
    "f set_rng_state(Tensor new_state) -> Tensor",
    "fm unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
    "Tensor",
    "fm unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> Tensor",
    "fmo nonzero.numpy(Tensor self, *, bool as_tuple) -> Tensor",
    "fmo norm.any(Tensor self, Scalar? p=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "fmo norm.name(Tensor self, str p, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    "f cdist.any(Tensor x1, Tensor x2, float p=2, str? compute_mode=None) -> Tensor",
    "f Generator(Device? device=None) -> Tensor",
    "f set_printoptions(int? precision=None, Scalar? threshold=None, int? edgeitems=None, int? linewidth=None, "
    "str? profile=None, bool? sci_mode=None) -> Tensor",
    "f _fft_rows(Tensor pairs, bool inverse) -> Tensor",
    "f _jit_inflate(Storage data, int size) -> Tensor",
    "f _jit_source(Storage text) -> Tensor",
    "m __repr__(Tensor self) -> Tensor",
    "m __float__(Tensor self) -> Tensor",
    "m __getitem__(Tensor self, Storage? index) -> Tensor",
    "m __setitem__(Tensor self, Storage? index, Storage? value) -> Tensor",
    *(f"m {name}(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor" for name in _CASTS),
)
