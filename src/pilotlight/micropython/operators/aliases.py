"""Other names for operators, and for their in-place forms."""

ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "argwhere": "nonzero", "cfloat": "complex64", "clip": "clamp",
    "concat": "cat", "concatenate": "cat", "cuda_is_available": "jit_is_scripting", "divide": "div", "fix": "trunc",
    "ger": "outer", "greater": "gt", "greater_equal": "ge", "jit_export": "jit_script", "jit_ignore": "jit_script",
    "jit_is_tracing": "jit_is_scripting", "jit_script_if_tracing": "jit_script", "jit_unused": "jit_script",
    "less": "lt", "less_equal": "le", "linalg_matmul": "matmul", "moveaxis": "movedim", "multiply": "mul",
    "negative": "neg", "not_equal": "ne", "row_stack": "vstack", "special_digamma": "digamma", "special_erf": "erf",
    "special_erfc": "erfc", "special_exp2": "exp2", "special_expit": "sigmoid", "special_expm1": "expm1",
    "special_gammaln": "lgamma", "special_log1p": "log1p", "special_logit": "logit", "special_psi": "digamma",
    "special_round": "round", "special_sinc": "sinc", "special_xlogy": "xlogy", "subtract": "sub", "trapz": "trapezoid",
    "true_divide": "div", "unsafe_chunk": "chunk", "unsafe_split": "split",
    "unsafe_split_with_sizes": "split_with_sizes", "vdot": "dot",
}
