"""Random tensors and the generator behind them."""

from __future__ import annotations

from pilotlight.micropython.schemas import Kernel

KERNELS: dict[str, Kernel] = {
    **{f"{name}.{overload}": Kernel(f"pt_do_{name}", generator)
       for name in ("rand", "randn") for generator, overload in enumerate(("default", "generator"))},
    "randperm.default": Kernel("pt_do_randperm", 0), "randperm.generator": Kernel("pt_do_randperm", 1),
    "uniform_.default": Kernel("pt_do_uniform"), "normal_.default": Kernel("pt_do_normal_in_place"),
    "random_.default": Kernel("pt_do_random", 0), "random_.to": Kernel("pt_do_random", 1),
    "random_.from": Kernel("pt_do_random", 2),
    "dropout.default": Kernel("pt_do_drop"), "dropout_.default": Kernel("pt_do_drop"),
    "exponential_.default": Kernel("pt_do_exponential"),
    "Generator.default": Kernel("pt_do_generator"),
    **{f"{name}.default": Kernel(f"pt_do_{name}")
       for name in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state")},
}
