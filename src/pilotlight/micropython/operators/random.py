"""Random tensors and the generator behind them."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    **{f"{name}{like}.{overload}": Kernel(f"pt_do_{name}", generator + 2 * bool(like))
       for name in ("rand", "randn") for like in ("", "_like")
       for generator, overload in enumerate(("default", "generator"))},
    "randint.default": Kernel("pt_do_randint", 0), "randint.generator": Kernel("pt_do_randint", 1),
    "randint.low": Kernel("pt_do_randint", 2), "randint.low_generator": Kernel("pt_do_randint", 3),
    "randint_like.default": Kernel("pt_do_randint", 4), "randint_like.generator": Kernel("pt_do_randint", 5),
    "randint_like.low_dtype": Kernel("pt_do_randint", 6),
    "randint_like.low_generator_dtype": Kernel("pt_do_randint", 7),
    "randperm.default": Kernel("pt_do_randperm", 0), "randperm.generator": Kernel("pt_do_randperm", 1),
    "uniform_.default": Kernel("pt_do_uniform"), "normal_.default": Kernel("pt_do_normal_in_place"),
    "normal.Tensor_float": Kernel("pt_do_normal", 1), "normal.float_Tensor": Kernel("pt_do_normal", 2),
    "normal.Tensor_Tensor": Kernel("pt_do_normal", 3), "normal.float_float": Kernel("pt_do_normal_size"),
    "random_.default": Kernel("pt_do_random", 0), "random_.to": Kernel("pt_do_random", 1),
    "random_.from": Kernel("pt_do_random", 2),
    "bernoulli.default": Kernel("pt_do_bernoulli", 0), "bernoulli.p": Kernel("pt_do_bernoulli", 1),
    "bernoulli_.float": Kernel("pt_do_bernoulli", 1), "bernoulli_.Tensor": Kernel("pt_do_bernoulli", 2),
    "dropout.default": Kernel("pt_do_drop"), "dropout_.default": Kernel("pt_do_drop"),
    "exponential_.default": Kernel("pt_do_exponential"), "multinomial.default": Kernel("pt_do_multinomial"),
    "Generator.default": Kernel("pt_do_generator"),
    **{f"{name}.default": Kernel(f"pt_do_{name}")
       for name in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state")},
}
