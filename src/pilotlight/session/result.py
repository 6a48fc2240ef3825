"""What a run on a board showed."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from pilotlight.compiler import Build
from pilotlight.device.counts import Counts
from pilotlight.figures.made import versions
from pilotlight.figures.network import network
from pilotlight.figures.profile import profile_rows
from pilotlight.figures.record import FORMAT, hardware, layer_text
from pilotlight.measure.compare import OutputMatch, Truth
from pilotlight.measure.profile import Profile, ProfileRow
from pilotlight.quantize.fallbacks import fallback_costs
from pilotlight.report.html import write_report
from pilotlight.report.notebook import as_html
from pilotlight.report.profile import profile_table
from pilotlight.report.style import console
from pilotlight.report.summary import run_title, summary_table
from pilotlight.session.accuracy import Accuracy
from pilotlight.session.matching import INTEGER_REFERENCE, SAME_WEIGHTS
from pilotlight.toolchain import BuildInfo

LOW_DB = 10.0  # a quantized model with less signal over noise gets a warning


@dataclass
class Session:
    """What a run on a board showed."""

    build: Build
    info: BuildInfo  # of what ran
    outputs: list[list[torch.Tensor]]
    truth: Truth
    matches: list[OutputMatch]
    repeated: bool  # stateful models: the same outputs again after a reset
    profile: Profile | None
    counts_reason: str | None
    painted_stack: int | None
    emulator: str | None = None  # its name and version
    counts: Counts | None = None  # what the profile was made of
    figures: dict[str, Any] = field(default_factory=dict)
    accuracy: Accuracy | None = None  # where labels were given
    snr_db: list[float | None] | None = None  # of a quantized model against float, per output
    agreement: list[float | None] | None = None  # of its integer outputs
    worst_layers: list[dict[str, Any]] | None = None  # where it loses most, if asked for
    reasons: list[str] = field(default_factory=list)  # why outputs differ, if the board is not to blame
    compared: str | None = None  # of a stream: what `match` refers to, where that is not the model itself
    timeline: dict[str, Any] | None = None  # of a stream: its first output over time, next to PyTorch's
    command: str | None = None  # as typed, if any
    date: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def match(self) -> bool:
        """Whether all outputs are what they should be (`compared_with` says against what), and again after a reset."""
        return self.repeated and all(m.match for m in self.matches)

    @property
    def compared_with(self) -> str:
        """What `match` refers to."""
        if self.compared is not None:
            return self.compared
        quantization = self.build.lowered.quantization
        if quantization is None:
            return self.build.graph.truth.name
        return SAME_WEIGHTS if quantization.weights_only else INTEGER_REFERENCE

    @property
    def snr_against(self) -> str:
        """What the noise is measured against; a model that came quantized has no float form."""
        quantization = self.build.lowered.quantization
        own = quantization is not None and quantization.program is self.build.graph.exported
        return "PyTorch's quantized model" if own else "the float model"

    @property
    def warnings(self) -> list[str]:
        """Why a match may show less than it seems to."""
        found = [*self.reasons, *(text for m in self.matches for text in m.warnings)]
        if not self.matches:
            found.append("the model returns no tensor: nothing was compared")
        for match, decibels in zip(self.matches, self.snr_db or (), strict=False):
            if decibels is not None and decibels < LOW_DB:
                worst = "".join(f"; {layer_text(row)} loses most" for row in (self.worst_layers or ())[:1])
                found.append(f"output {match.name} has {decibels:.1f} dB of signal over noise against "
                             f"{self.snr_against}, less than {LOW_DB:g} dB{worst}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """The object that `run --json` prints."""
        return {
            "format": FORMAT,
            "name": self.build.name,
            "board": self.build.board.name,
            "target": self.build.board.cpu,
            "match": self.match,
            "compared_with": self.compared_with,
            "warnings": self.warnings,
            "max_abs_error": max((m.max_abs_error for m in self.matches), default=0.0),
            **self.figures,
            "accuracy": self.accuracy.as_dict() if self.accuracy else None,
            "snr_db": self.snr_db,
            "agreement": self.agreement,
            "snr_against": self.snr_against,
            "worst_layers": self.worst_layers,
            "fallbacks": fallback_costs(self.build.lowered),
            "runs": len(self.outputs),
            "outputs": [vars(m) for m in self.matches],
            "operators": [vars(r) for r in self.profile.rows] if self.profile else None,
            "counts_reason": self.counts_reason,
            "stack_painted": self.painted_stack,
            "memory": [{**vars(use), "free": use.size - use.used} for use in self.info.memory],
            "hardware": hardware(self.build.board),
            "network": network(self.build.plan, self.build.module.metadata),
            "made": self.made,
            **({"timeline": self.timeline} if self.timeline is not None else {}),
        }

    @property
    def operators(self) -> tuple[ProfileRow, ...]:
        """What each operator took, where instructions were counted; they add up to the total exactly."""
        return self.profile.rows if self.profile else ()

    def report(self, path: Path | str, title: str | None = None) -> Path:
        """Write the page of this run: one HTML file that needs nothing else."""
        return write_report(self.as_dict(), Path(path), title)

    def show(self, *, operators: bool = False) -> None:
        """Print the facts, as `pilotlight run` does; with `operators` also what each of them took."""
        figures, out = self.as_dict(), console(sys.stdout)
        out.print(run_title(figures), summary_table(figures))
        if operators and self.profile is not None:
            figures["operators"] = profile_rows(self.profile, self.build)
            out.print("\nWhere the time goes:", profile_table(figures))

    def _repr_html_(self) -> str:
        """For notebooks: the facts that a terminal shows."""
        figures = self.as_dict()
        return as_html(run_title(figures), summary_table(figures))

    @property
    def made(self) -> dict[str, Any]:
        """When and how: the command, the options of the build, and the versions of the tools used."""
        build, quantization = self.build, self.build.lowered.quantization
        return {
            "date": self.date.isoformat(timespec="seconds"), "command": self.command,
            "options": {"quantize": quantization.mode if quantization else None, **asdict(build.options)},
            "versions": versions(self.info, self.emulator),
        }
