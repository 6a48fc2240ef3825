"""A GPT that reads a prompt at once and goes on token by token writes what PyTorch writes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import pilotlight as pl
from gpt import ALPHABET, PROMPT, generate_pair, tokens
from pilotlight.programs import RunningProgram
from support.c_compilers import SANITIZERS
from zoo import load_entries

TEXTS = ("what's in a name?", "to be, or not to be", "\nzq;x(j)k - 'tis so")


@pytest.fixture(scope="module")
def entries() -> Any:
    return load_entries("gpt_pair")


@pytest.fixture(scope="module")
def program(entries: Any) -> Any:
    return pl.capture(entries, name="gpt")


def eager(entries: Any) -> Any:
    """The user's own module, anew."""
    return copy.deepcopy(entries["decode"][0])


def compare(entries: Any, running: RunningProgram, prompts: Iterator[str], n: int) -> None:
    with torch.no_grad():
        for prompt in prompts:
            module = eager(entries)
            want = generate_pair(module.prefill, module, prompt, n)
            running.reset()
            assert generate_pair(running.entry("prefill"), running.entry("decode"), prompt, n) == want, repr(prompt)


def test_it_writes_the_same_text(entries: Any, program: Any) -> None:
    """From several prompts of every length; the text is not always the same."""
    build = pl.compile(program)
    prompts = [text[:length] for length in range(1, PROMPT + 1) for text in TEXTS]
    with build.open(sanitize=SANITIZERS) as running:
        compare(entries, running, iter(prompts), 4)
        module = eager(entries)
        with torch.no_grad():
            written = {generate_pair(copy.deepcopy(module).prefill, module, p, 1)[-1] for p in prompts}
    assert len(written) > 3


def test_it_writes_the_same_text_on_a_board(entries: Any, program: Any) -> None:
    with pl.compile(program, "mps2-an386").open(count=False) as running:
        compare(entries, running, (TEXTS[k % 3][:k] for k in range(1, PROMPT + 1)), 4)


def test_a_second_block_goes_on_where_the_first_ended(entries: Any, program: Any) -> None:
    """Blocks of all lengths and single tokens, up to the end of the cache: every score, not only the largest."""
    module = eager(entries)
    sizes = [5, 1, 16, 1, 1, 2, 16, 1, 9, 1, 1, 10]
    assert sum(sizes) == module.context
    with pl.compile(program).open() as running, torch.no_grad():
        for number, size in enumerate(sizes):
            block = tokens("".join(ALPHABET[(7 * number + 5 * k) % len(ALPHABET)] for k in range(size)))
            name = "decode" if size == 1 and number % 2 else "prefill"
            want = (module if name == "decode" else module.prefill)(block)
            assert torch.allclose(running.entry(name)(block), want, atol=2e-5), (number, name, size)


def test_memory_is_shared(program: Any) -> None:
    """The arena of the larger, the weights of one, one cache."""
    both = pl.compile(program).module.metadata
    alone = {name: pl.compile(graph).module.metadata for name, graph in program.entries.items()}
    assert both["arena_bytes"] == max(meta["arena_bytes"] for meta in alone.values())
    assert {both["state_bytes"]} == {meta["state_bytes"] for meta in alone.values()}
    assert both["weights_bytes"] == max(meta["weights_bytes"] for meta in alone.values())
