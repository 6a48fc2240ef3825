"""PyTorch's own operator database (OpInfo) as a source of cases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import torch

from conformance.cases import Case

DTYPES = {"float32": torch.float32, "int64": torch.int64, "bool": torch.bool, "complex64": torch.complex64}


@cache
def operator_table() -> dict[str, Any]:
    """Every OpInfo by its name; its samples are not asked which unittest runs, which takes longer than making them."""
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db  # seconds: only when asked for
    from torch.testing._internal.opinfo import core

    for module in (common_utils, core):
        module.extract_test_fn = lambda: None  # type: ignore[attr-defined]
    return {f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name: op for op in op_db}


class OpInfoSource:
    """Every OpInfo that has samples for one of the dtypes; `limit` takes only the first of each OpInfo and dtype."""

    def __init__(self, dtypes: tuple[str, ...] = tuple(DTYPES), limit: int | None = None):
        self.dtypes = dtypes
        self.limit = limit

    def operators(self) -> list[str]:
        return [name for name, op in operator_table().items() if any(DTYPES[d] in op.dtypes for d in self.dtypes)]

    def cases(self, operator: str) -> Iterator[Case]:
        op = operator_table()[operator]
        for dtype in self.dtypes:
            if DTYPES[dtype] not in op.dtypes:
                continue
            torch.manual_seed(0)  # samples draw from the global generator
            samples = op.sample_inputs("cpu", DTYPES[dtype], requires_grad=False)
            for index, sample in enumerate(islice(samples, self.limit)):
                yield Case(operator, dtype, index, op.op, (sample.input, *sample.args), dict(sample.kwargs))
