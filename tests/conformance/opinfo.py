"""PyTorch's own operator database (OpInfo) as a source of cases."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import torch

from conformance.cases import Case

REAL = {"float32": torch.float32, "int64": torch.int64, "bool": torch.bool}
DTYPES = {**REAL, "complex64": torch.complex64}


class OpInfoSource:
    """Every OpInfo that has samples for one of the dtypes; `limit` takes only the first of each OpInfo and dtype."""

    def __init__(self, dtypes: tuple[str, ...] = tuple(DTYPES), limit: int | None = None):
        self.dtypes = dtypes
        self.limit = limit

    def __reduce__(self) -> tuple[Any, ...]:
        return OpInfoSource, (self.dtypes, self.limit)  # the table itself cannot be sent to another process

    @cached_property
    def _table(self) -> dict[str, Any]:
        from torch.testing._internal.common_methods_invocations import op_db  # seconds: only when asked for

        return {f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name: op for op in op_db}

    def operators(self) -> list[str]:
        return [name for name, op in self._table.items() if any(DTYPES[d] in op.dtypes for d in self.dtypes)]

    def cases(self, operator: str) -> Iterator[Case]:
        op = self._table[operator]
        for dtype in self.dtypes:
            if DTYPES[dtype] not in op.dtypes:
                continue
            torch.manual_seed(0)  # samples draw from the global generator
            samples = op.sample_inputs("cpu", DTYPES[dtype], requires_grad=False)
            for index, sample in enumerate(islice(samples, self.limit)):
                yield Case(operator, dtype, index, op.op, (sample.input, *sample.args), dict(sample.kwargs))
