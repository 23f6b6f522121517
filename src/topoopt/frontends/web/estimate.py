"""The sentence of an answer: which network, how long, how much; and the reason, in one more."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from shlex import quote
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.units import format_bandwidth, format_time, interval_s, interval_words
from topoopt.catalog import NETWORKS, OWN, NetworkRow
from topoopt.frontends.web.question import Question
from topoopt.pages import dollars, listed
from topoopt.plans import ComparedFabric, Plan, compared_fabrics, front, recommended
from topoopt.schema.files import noun_from

ACCURACY = (
    "An estimate. Of 230 times of 46 plans of nine models (4 to 64 servers) half came out within 1.4% of it, nine in "
    "ten within 9%; of two fabrics that differ by more than 5% it named the faster one 98 times in 100."
)
"""Measured by ``python -m benchmarks.studio_estimates``."""


@dataclass(frozen=True, slots=True)
class FabricEstimate(NetworkRow):
    """The job on one fabric, in closed form.

    Attributes
    ----------
    rule : str
        Rule by which it is dimensioned, as a baseline of a plan.
    title : str
        Label in charts.
    iteration_time_s : float
        Iteration time: rings and neighbors have dedicated links, all-to-all traffic is relayed.
    most_time_s : float
        Iteration time if all traffic between servers were relayed.
    parts_s : mapping
        Parts of the iteration time; they add up to it.
    configuration : str
        Short description of the split.
    owned_usd : float or None
        Cost of ownership over the years; None where a price is unknown.
    usd_per_hour, usd_per_unit : float or None
        Total cost of ownership, per hour and per token or sample.
    network_usd_per_hour : float or None
        Cost of the network including its operation.
    estimated_s : float or None
        Estimate that a plan's simulation has replaced; None for an estimate itself.
    """

    rule: str
    title: str
    iteration_time_s: float
    most_time_s: float
    parts_s: Mapping[str, float]
    configuration: str
    owned_usd: float | None = None
    usd_per_hour: float | None = None
    usd_per_unit: float | None = None
    network_usd_per_hour: float | None = None
    note: str = ""
    estimated_s: float | None = None


@dataclass(frozen=True, slots=True)
class Sketch:
    """Sketch of a direct wiring before one is found: rings of all servers along strides.

    Attributes
    ----------
    strides : tuple of int
        Server i is joined with i + p.
    average_hops : float
        Mean hops between two servers on the best graph with these ports (Moore's bound).
    """

    servers: int
    degree: int
    strides: tuple[int, ...]
    average_hops: float


@dataclass(frozen=True, slots=True)
class StudioAnswer:
    """Answer of the page to a question.

    Attributes
    ----------
    job : str
        The model and the hardware.
    unit : str
        Unit of training: ``token`` or ``sample``.
    units : float
        Units per iteration.
    bound_s : float
        Lower bound on any network with the splits considered.
    best : str
        The fabric of the sentence.
    sentence, reason : str
        Recommendation (network, time, cost), and its reason.
    interval_share : float or None
        Share of its times that 80 % of measured runs are off at most; None without a calibration of it.
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
    interval_share: float | None = None
    accuracy: str = ACCURACY

    @property
    def front(self) -> tuple[FabricEstimate, ...]:
        """The fabrics that no other beats in both price and time, the cheapest first."""
        return front(self.fabrics, lambda row: row.cost_usd, lambda row: row.iteration_time_s)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        shown = [row.fabric for row in self.front]
        asked = ("kind", "job", "accelerators", "accelerator", "unit", "units")
        found = ("bound_s", "bound_words", "prices", "terms", "best", "sentence", "reason")
        return {
            "question": self.question.words,
            "command": command_line(self.question),
            **fields_of(self, *asked, *found),
            "accuracy": self.accuracy,
            "fabrics": [
                {
                    **asdict(row),
                    **interval_s("iteration_time", row.iteration_time_s, self.interval_share),
                    "label": row.label,
                    "gap": row.iteration_time_s / self.bound_s - 1 if self.bound_s else None,
                    "on_front": row.fabric in shown,
                }
                for row in self.fabrics
            ],
            "sketch": asdict(self.sketch),
            "skipped_fabrics": [list(row) for row in self.skipped],
            "warnings": list(self.warnings),
        }


def adopted(answer: StudioAnswer, plan: Plan, headline: str) -> StudioAnswer:
    """Return the answer with all that a plan has found in place of estimates: times, prices, bound and advice.

    Parts of a time keep their estimated shares of it.
    """
    rows = compared_fabrics(plan)
    estimates = {key: row for row in reversed(answer.fabrics) for key in (row.fabric, row.rule)}
    taken, found, best = recommended(rows) or rows[0], list[FabricEstimate](), OWN
    for rule, row in zip((OWN, *(one.rule for one in plan.baselines)), rows, strict=True):
        time_s, owned = row.outcome.iteration_time_s, row.ownership
        before = estimates.get(rule, estimates.get(row.fabric))
        scale = time_s / before.iteration_time_s if before else 0.0
        per_unit = owned and (owned.usd_per_token if answer.unit == "token" else owned.usd_per_sample)
        one = noun_from(
            FabricEstimate,
            row,
            rule=rule,
            title=before.title if before and before.rule == rule else _title(row),
            iteration_time_s=time_s,
            most_time_s=time_s,
            parts_s={part: each * scale for part, each in before.parts_s.items()}
            if before
            else {WHOLE: time_s},
            configuration=row.configuration or (before.configuration if before else ""),
            owned_usd=owned and owned.total_usd,
            usd_per_hour=owned and owned.usd_per_hour,
            usd_per_unit=per_unit,
            network_usd_per_hour=owned and owned.network_usd_per_hour,
            note="; ".join(f"missing: {part}" for part in owned.unknown) if owned else "",
            estimated_s=before and max(before.iteration_time_s, plan.bounds.lower_bound_s),
        )
        found.append(one)
        best = row.fabric if row is taken else best
    return replace(
        answer,
        fabrics=tuple(found),
        bound_s=plan.bounds.lower_bound_s,
        bound_words="the least that any network with these ports could reach",
        best=best,
        sentence=headline,
        reason="Simulated: the search for the best split, and its iteration on each network. Estimates are in gray.",
        skipped=plan.skipped_fabrics,
        accuracy="Simulated by the plan. Where the time goes: total times are simulated, their parts are estimated.",
    )


def _title(row: ComparedFabric) -> str:
    label = NETWORKS[row.fabric].label
    return f"{label} ({row.variant})" if row.variant else label


WHOLE = "whole"
"""Part of a simulated time that no estimate divides."""
SAME = 0.005
"""Relative difference below which times are reported as equal."""
TIE = 0.0005
"""Costs of a unit likewise."""
UNTOLD = 0.02
"""Relative difference below which estimated times count as equal: of pairs further apart one in 50 is wrong."""
NEAR = 1.02
"""Factor of the fastest within which the cheapest fabric is chosen, if the cost per unit is unknown."""


def best_fabric(answer: StudioAnswer) -> FabricEstimate:
    """Return the fabric that a plan would recommend; where prices are unknown, the cheapest of the fast ones."""
    first = answer.fabrics[0]

    def saved_usd(row: FabricEstimate) -> float | None:
        if row.owned_usd is None or first.owned_usd is None:
            return None
        return first.owned_usd - row.owned_usd * row.iteration_time_s / first.iteration_time_s

    best = recommended(answer.fabrics, lambda row: row.iteration_time_s, saved_usd)
    if best is not None:
        return best
    fastest = min(row.iteration_time_s for row in answer.fabrics)
    near = [row for row in answer.fabrics if row.iteration_time_s <= NEAR * fastest]
    priced = [row for row in near if row.cost_usd is not None]
    return min(priced or near, key=lambda row: (row.cost_usd or 0.0, row.iteration_time_s))


def sentence(answer: StudioAnswer, best: FabricEstimate) -> str:
    """Return the recommended network with its iteration time and cost, as a sentence."""
    ports, each = answer.question.degree, format_bandwidth(answer.question.bandwidth_bps)
    machines = f"{answer.accelerators:,} {answer.accelerator.upper()}"
    price = "at a price that the list does not have" if best.cost_usd is None else usd(best.cost_usd)
    ports_words = f"{ports} ports of {each} a server" if ports > 1 else f"one port of {each} a server"
    if best.fabric == "fat-tree":
        ports_words = f"half the ports, {format_bandwidth(best.server_bandwidth_bps)} a server"
    share = answer.interval_share
    within = f" ({interval_words(best.iteration_time_s, share)})" if share else ""
    return (
        f"{name_of(best)} with {ports_words}: {answer.job} on {machines} takes about "
        f"{format_time(best.iteration_time_s, 3)} an iteration{within}, and the network costs {price}."
    )


def reason(answer: StudioAnswer, best: FabricEstimate) -> str:
    """Return the reason: the next best network, and the distance from the lower bound."""
    gap = best.iteration_time_s / answer.bound_s - 1 if answer.bound_s else 0.0
    above = f"It is {gap:.1%} above {answer.bound_words}." if gap > 0 else f"It is {answer.bound_words}."
    others = [row for row in answer.fabrics if row is not best]
    near = [
        inside(row)
        for row in others
        if SAME < abs(row.iteration_time_s / best.iteration_time_s - 1) <= UNTOLD
    ]
    if not near:
        untold = ""
    else:
        names = listed(near)
        untold = (
            f"An estimate does not tell its time from that on {names}: they are less than {UNTOLD:.0%} apart."
        )
    above = " ".join(filter(None, [above, untold]))
    if best.usd_per_unit is not None:
        return f"{_beside_units(answer, best, others)} {above}"
    fast = [row for row in others if row.iteration_time_s < (1 - SAME) * best.iteration_time_s]
    cheap = [row for row in others if _cheaper(row, best)]
    parts = []
    if cheap:
        row = min(cheap, key=lambda one: one.iteration_time_s)
        slower = row.iteration_time_s / best.iteration_time_s - 1
        parts.append(f"{name_of(row)} costs {usd(row.cost_usd)}, and takes {slower:.1%} longer.")
    if fast:
        row = min(fast, key=lambda one: one.iteration_time_s)
        faster = 1 - row.iteration_time_s / best.iteration_time_s
        parts.append(f"{name_of(row)} is {faster:.1%} faster, for {usd(row.cost_usd)}.")
    if not parts:
        parts.append("No other fabric here is faster, and none is cheaper.")
    return " ".join([*parts, above])


def _beside_units(answer: StudioAnswer, best: FabricEstimate, others: list[FabricEstimate]) -> str:
    known = [row for row in others if row.usd_per_unit is not None]
    many = "a million tokens" if answer.unit == "token" else "a million samples"
    own = (best.usd_per_unit or 0.0) * 1e6
    said = f"With servers and what running them takes that is {usd(own)} {many}"
    ties = [row for row in known if _dearer(row, best) <= TIE]
    if ties:
        said += f", and so it is on {' and '.join(inside(row) for row in ties)}"
    rest = [row for row in known if row not in ties]
    if not rest:
        return f"{said}."
    row = min(rest, key=lambda one: one.usd_per_unit or 0.0)
    slower = row.iteration_time_s / best.iteration_time_s - 1
    dearer = _dearer(row, best)
    pace = "as fast" if abs(slower) <= SAME else f"{abs(slower):.1%} {'slower' if slower > 0 else 'faster'}"
    return (
        f"{said}; next comes {inside(row)}, {pace} for {usd(row.cost_usd)}, {abs(dearer):.2%} "
        f"{'dearer' if dearer > 0 else 'cheaper'} a {answer.unit}{_saved_and_lost(row, best)}."
    )


def _saved_and_lost(row: FabricEstimate, best: FabricEstimate) -> str:
    """Return the savings of another network over all years, and the cost of its slower iterations."""
    own, other, hour = best.network_usd_per_hour, row.network_usd_per_hour, row.usd_per_hour
    if own is None or other is None or not hour or row.owned_usd is None:
        return ""
    hours = row.owned_usd / hour
    saved_usd = hours * (own - other)
    lost_usd = hours * (row.iteration_time_s / best.iteration_time_s - 1) * hour
    saves = "saves" if saved_usd >= 0 else "costs"
    more = "" if saved_usd >= 0 else " more"
    loses = (
        f"{'lose' if lost_usd > 0 else 'gain'} {usd(abs(lost_usd))}" if abs(lost_usd) >= 1 else "lose nothing"
    )
    return f" (over the years its network {saves} {usd(abs(saved_usd))}{more}, the servers {loses})"


def _dearer(row: FabricEstimate, best: FabricEstimate) -> float:
    return (row.usd_per_unit or 0.0) / (best.usd_per_unit or 1.0) - 1


def _cheaper(row: FabricEstimate, best: FabricEstimate) -> bool:
    return row.cost_usd is not None and best.cost_usd is not None and row.cost_usd < best.cost_usd


def name_of(row: FabricEstimate) -> str:
    """Return a fabric's name at the beginning of a sentence."""
    label = NETWORKS[row.fabric].label
    if row.fabric in (OWN, "direct"):
        return label
    return f"{'An' if label[0] in 'AEIO' else 'A'} {label[0].lower()}{label[1:]}"


def inside(row: FabricEstimate) -> str:
    """Return a fabric's name within a sentence."""
    name = name_of(row)
    return name if row.fabric == OWN else name[0].lower() + name[1:]


def usd(amount: float | None) -> str:
    """Return dollars as pages write them; unknown amounts as text.

    Examples
    --------
    >>> usd(77_600.0), usd(2_910_000.0), usd(None)
    ('$77.6 k', '$2.91 M', 'an unknown price')
    """
    return "an unknown price" if amount is None else dollars(amount)


def command_line(question: Question, **search: Any) -> str:
    """Return the command that makes the plan of a question, with further search options.

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
