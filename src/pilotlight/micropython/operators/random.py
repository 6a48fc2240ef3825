"""Random tensors and their generator."""

from __future__ import annotations

from pilotlight.micropython.schemas import CFunction

KERNELS: dict[str, CFunction] = {
    **{f"{name}.{overload}": CFunction(f"pt_do_{name}", generator)
       for name in ("rand", "randn") for generator, overload in enumerate(("default", "generator"))},
    "randperm.default": CFunction("pt_do_randperm", 0), "randperm.generator": CFunction("pt_do_randperm", 1),
    "uniform_.default": CFunction("pt_do_uniform"), "normal_.default": CFunction("pt_do_normal_in_place"),
    "random_.default": CFunction("pt_do_random", 0), "random_.to": CFunction("pt_do_random", 1),
    "random_.from": CFunction("pt_do_random", 2),
    "dropout.default": CFunction("pt_do_drop"), "dropout_.default": CFunction("pt_do_drop"),
    "exponential_.default": CFunction("pt_do_exponential"),
    "Generator.default": CFunction("pt_do_generator"),
    **{f"{name}.default": CFunction(f"pt_do_{name}")
       for name in ("manual_seed", "seed", "initial_seed", "get_rng_state", "set_rng_state")},
}
