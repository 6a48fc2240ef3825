"""The benchmark of measured kernels: what is counted, what is only named, and what the page says."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from pilotlight.errors import PilotlightError
from pilotlight.fleet import LocalWorkers
from pilotlight.trials.search import Limits
from support.paths import ROOT


@pytest.fixture
def tune(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import tune

    return tune


def test_all_of_the_zoo_has_its_turn_and_a_network_without_a_choice_is_not_counted(
    tune: ModuleType, tmp_path: Path
) -> None:
    names = tune.zoo_names()
    assert names[:4] == ["kws", "vww", "ic", "ad"] and {"softmax", "gpt", "alexnet", "convnext"} < set(names)
    page = tune.Page("random weights", "All")
    said = tune.add(page, "softmax", "microbit", False, LocalWorkers(), tmp_path, Limits())
    assert "no layer of softmax" in said and not page.rows and page.fixed == {"softmax": ["microbit"]}
    assert "- softmax on microbit" in page.markdown(["microbit"])


def test_what_does_not_fit_or_match_is_named_and_other_errors_are_raised(
    tune: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"a": "does-not-fit", "b": "unsupported", "c": "mismatch", "d": "missing-tool"}

    def fails(network: str, *_: object) -> None:
        raise PilotlightError(f"why {network}\nmore", kind=kinds[network])

    monkeypatch.setattr(tune, "measure", fails)
    page = tune.Page("", "")
    for network in "abc":
        tune.add(page, network, "pico", False, LocalWorkers(), tmp_path, Limits())
    assert page.left_out == ["a on pico: why a", "b on pico: why b"] and page.wrong == ["c on pico: why c"]
    with pytest.raises(PilotlightError, match="why d"):
        tune.add(page, "d", "pico", False, LocalWorkers(), tmp_path, Limits())


def test_the_page_has_the_geometric_mean_and_counts_networks_not_layers(tune: ModuleType) -> None:
    page = tune.Page("random weights", "All candidates")
    for network, after, won in (("a", 50, {"x.p for y"}), ("b", 200, {"x.p for y", "z for y"})):
        sizes = tune.Size(100, 10, 20), tune.Size(after, 11, 20)
        page.rows.append(tune.Row("pico", network, "instructions", *sizes, 6, 8, 5, 2.0, frozenset(won)))
    text = page.markdown(["microbit", "pico"])
    assert "with 2 int8 networks (a, b): random weights" in text
    assert "| pico | 2 | 0.0 % | -100.0 % | 50.0 % | 10 | 150 |" in text
    assert "- pico: x.p for y: 2 of 2\n- pico: z for y: 1 of 2\n" in text
    assert "| 10 → 11 | 20 | 6 of 8 | 150 |" in text and "microbit" not in text
    assert tune.kind("dsp.conv.wide.p12") == "dsp.conv.wide.p"
