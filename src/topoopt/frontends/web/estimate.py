"""The nouns FabricEstimate and StudioAnswer: what a page of the studio shows at once, before anything is wired."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from shlex import quote
from typing import Any

from topoopt.frontends.web.question import Question
from topoopt.plans import front

ACCURACY = (
    "An estimate. Of 230 times of 46 plans of nine models (4 to 64 servers) half came out within 1.4 % of it, nine in "
    "ten within 9 %; of two fabrics that differ by more than 5 % it named the faster one 98 times in 100."
)
"""Measured by ``python -m benchmarks.studio_estimates``."""


@dataclass(frozen=True, slots=True)
class FabricEstimate:
    """The job on one fabric, in closed form.

    Attributes
    ----------
    fabric : str
        As in the table of fabrics.
    rule : str
        How it is dimensioned, as a baseline of a plan.
    name : str
        What it is called in charts.
    label : str
        What tells it from others, for people.
    server_bandwidth_bps : float
        All ports of a server, each way.
    iteration_time_s : float
        Of an iteration: rings and neighbors have links of their own, what goes from all to all is relayed.
    most_time_s : float
        If everything between servers were relayed.
    parts_s : mapping
        Where the time goes; they add up to it.
    configuration : str
        How the model is split, in a few words.
    network_usd, owned_usd : float or None
        The network's price; with servers and what running them takes over the years. None where a price is not known.
    usd_per_hour, usd_per_unit : float or None
        Of all that is owned; for a token or a sample.
    network_usd_per_hour : float or None
        Of the network with what it takes to run it.
    """

    fabric: str
    rule: str
    name: str
    label: str
    server_bandwidth_bps: float
    iteration_time_s: float
    most_time_s: float
    parts_s: Mapping[str, float]
    configuration: str
    network_usd: float | None = None
    power_w: float | None = None
    owned_usd: float | None = None
    usd_per_hour: float | None = None
    usd_per_unit: float | None = None
    network_usd_per_hour: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a drawing of a direct wiring shows before one is found: rings of all servers along strides.

    Attributes
    ----------
    strides : tuple of int
        Server i is joined with i + p.
    average_hops : float
        Between two servers, of the best graph of so many ports (Moore's bound).
    """

    servers: int
    degree: int
    strides: tuple[int, ...]
    average_hops: float


@dataclass(frozen=True, slots=True)
class StudioAnswer:
    """What the page says of a question.

    Attributes
    ----------
    job : str
        The model, and on what.
    unit : str
        What an iteration trains: ``token`` or ``sample``.
    units : float
        How many of them an iteration trains.
    bound_s : float
        What no network of any kind goes below with the splits that were looked at.
    best : str
        The fabric of the sentence.
    sentence, reason : str
        Which network, how long, how much; and why.
    """

    question: Question
    kind: str
    job: str
    accelerators: int
    accelerator: str
    unit: str
    units: float
    bound_s: float
    bound_words: str
    prices: str
    terms: str
    fabrics: tuple[FabricEstimate, ...]
    sketch: Sketch
    best: str = ""
    sentence: str = ""
    reason: str = ""
    skipped: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def on_front(self) -> tuple[str, ...]:
        """The fabrics that no other beats in both price and time, the cheapest first."""
        rows = front(self.fabrics, lambda row: row.network_usd, lambda row: row.iteration_time_s)
        return tuple(row.fabric for row in rows)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
        shown = self.on_front
        return {
            "question": self.question.words,
            "command": command_line(self.question),
            "kind": self.kind,
            "job": self.job,
            "accelerators": self.accelerators,
            "accelerator": self.accelerator,
            "unit": self.unit,
            "units": self.units,
            "bound_s": self.bound_s,
            "bound_words": self.bound_words,
            "prices": self.prices,
            "terms": self.terms,
            "best": self.best,
            "sentence": self.sentence,
            "reason": self.reason,
            "accuracy": ACCURACY,
            "fabrics": [
                {
                    **asdict(row),
                    "gap": row.iteration_time_s / self.bound_s - 1 if self.bound_s else None,
                    "on_front": row.fabric in shown,
                }
                for row in self.fabrics
            ],
            "sketch": asdict(self.sketch),
            "skipped_fabrics": [list(row) for row in self.skipped],
            "warnings": list(self.warnings),
        }


def command_line(question: Question, **search: Any) -> str:
    """Return the command that makes the plan of a question, with further words of the search.

    Examples
    --------
    >>> command_line(Question("dlrm", 16, 4, 100e9))
    'topoopt plan dlrm --servers 16 --degree 4 --bandwidth 100Gbps --out plan.json'
    """
    order = ("servers", "degree", "bandwidth")
    words = {**question.plan_words, **search, "out": "plan.json"}
    names = (*order, *(name for name in words if name not in order))
    flags = [f"--{name.replace('_', '-')} {quote(_text(words[name]))}" for name in names]
    return " ".join(["topoopt plan", quote(question.model), *flags])


def _text(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)
