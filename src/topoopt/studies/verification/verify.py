"""The table of checks and its answer: all of them one after the other, the plan's numbers among them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, Progress, fields_of, frame, shows_itself
from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.collectives import run_msccl
from topoopt.search import as_asked, iteration_bounds, outcome
from topoopt.studies.verification.subject import Check, Subject, checked, counted
from topoopt.studies.verification.traffic_checks import (
    check_forwarding,
    check_link_bytes,
    check_routes,
    check_schedules,
    check_weights,
)
from topoopt.studies.verification.wiring_checks import (
    check_connected,
    check_degree,
    check_panels,
    check_rings,
    check_single_failures,
)
from topoopt.topologies import hop_metrics

_SAME = 1e-6
_TIMES = ("iteration_time_s", "compute_time_s", "exposed_communication_s", "bandwidth_tax")


def check_numbers(subject: Subject) -> Check:
    """Return whether times, bounds, distances, bytes and sums are as stated."""
    if subject.plan is None:
        return Check("numbers", skipped="a wiring states none; verify a plan on it")
    rows = [*_times(subject), *_bounds(subject), *_facts(subject)]
    note = f"{subject.stated.simulator}: {subject.simulated.iteration_time_s * 1e3:.6g} ms"
    wrong = (f"{name}: the plan says {said}, and {found}" for name, said, found, good in rows if not good)
    return checked("numbers", counted(len(rows), "number"), wrong, note)


_Row = tuple[str, Any, str, bool]
"""Name, stated value, computed value as text, and whether they agree."""


def _times(subject: Subject) -> Iterator[_Row]:
    found = outcome(subject.simulated)
    for name in _TIMES:
        said, again = getattr(subject.stated, name), getattr(found, name)
        scale = found.iteration_time_s if name.endswith("_s") else 1.0
        yield name, said, f"it is {again}", abs(said - again) <= _SAME * scale
    yield _same("algorithms", dict(subject.stated.algorithms), dict(found.algorithms))


def _bounds(subject: Subject) -> Iterator[_Row]:
    """Yield the bounds, all of which must be at most the time, and values derived from both."""
    plan, result = subject.plan, subject.simulated
    assert plan is not None
    time_s, bound_s = plan.iteration_time_s, plan.bounds.lower_bound_s
    for name, found in asdict(
        iteration_bounds(plan.job, plan.strategy, result, as_asked(plan.job, plan.gradients))
    ).items():
        said = getattr(plan.bounds, name)
        if said or name not in (
            "critical_path_s",
            "any_strategy_s",
        ):  # plans made before these were known have 0
            yield _same(f"bounds.{name}", said, found)
    below = f"no iteration is faster, but this one takes {time_s}"
    yield "lower_bound_s", bound_s, below, bound_s <= time_s * (1 + _SAME)
    if plan.gap_parts is not None:
        total, left_s = sum(asdict(plan.gap_parts).values()), time_s - bound_s
        yield "gap_parts", total, f"time less bound is {left_s}", abs(total - left_s) <= _SAME * time_s
    gap = plan.routing_gap
    busiest_s = float((result.link_bytes * 8 / subject.topology.bandwidth_bps).max(initial=0.0))
    yield _same("routing.max_load_s", gap.max_load_s, busiest_s)
    most = f"the busiest link takes {busiest_s}"
    yield "routing.optimal_load_s", gap.optimal_load_s, most, gap.optimal_load_s <= busiest_s * (1 + _SAME)


def _facts(subject: Subject) -> Iterator[_Row]:
    """Yield redundant values of a plan file, which nothing reads since they follow from the rest."""
    plan, says = subject.plan, subject.document or {}
    assert plan is not None
    hops, traffic = hop_metrics(subject.topology), plan.traffic()
    facts = {
        **fields_of(hops, "diameter", "average_hops"),
        "hop_histogram": {str(far): int(count) for far, count in enumerate(hops.histogram) if count},
        **fields_of(traffic, "allreduce_bytes", "mp_bytes"),
        "lower_bound_s": plan.bounds.lower_bound_s,
        "gap": plan.gap,
        "strides": list(plan.strides),
    }
    for name, found in facts.items():
        if name in says:
            yield _same(name, says[name], found)
    for index, row in enumerate(says.get("baselines", ())):
        relative = row["iteration_time_s"] / plan.iteration_time_s
        yield _same(f"baselines[{index}].relative_time", row["relative_time"], relative)
    bill = (says.get("price") or {}).get("bill") or []
    for index, line in enumerate(bill):
        if line["unit_usd"] is not None:
            yield _same(f"price.bill[{index}].total_usd", line["total_usd"], line["count"] * line["unit_usd"])
    if bill:
        known = [line["total_usd"] for line in bill if line["total_usd"] is not None]
        whole = sum(known) if len(known) == len(bill) else None
        yield _same("cost_usd", says.get("cost_usd"), whole)


@dataclass(frozen=True, slots=True)
class CheckRow:
    """Topic of a check, and the function that runs it."""

    text: str
    look: Callable[[Subject], Check]
    needs: tuple[str, ...] = ()
    """Checks that have to pass first; else it could not be looked at."""


CHECKS: Mapping[str, CheckRow] = {
    "ports": CheckRow(
        "no server has more links than ports; a cable goes both ways, at its bandwidth", check_degree
    ),
    "panels": CheckRow(
        "every cable end has a port of its own, both ends on one panel", check_panels, ("ports",)
    ),
    "connectivity": CheckRow("every server reaches every other", check_connected),
    "single failures": CheckRow("and still does without any one cable", check_single_failures),
    "routes": CheckRow("every path leads from its source to its destination, no server twice", check_routes),
    "weights": CheckRow("the weights of a pair's paths sum to 1", check_weights),
    "forwarding": CheckRow(
        "what servers do hop by hop is what the routes say, and everything arrives",
        check_forwarding,
        ("routes", "weights"),
    ),
    "rings": CheckRow("every ring meets each of its group once, over links", check_rings),
    "schedules": CheckRow(
        "collectives that are no rings end with what they are for", check_schedules, ("routes", "rings")
    ),
    "bytes": CheckRow(
        "what every link carries, summed anew, is what the plan and its simulator say",
        check_link_bytes,
        ("routes", "rings"),
    ),
    "numbers": CheckRow(
        "times, bounds, distances and sums are as stated, no time below its bound",
        check_numbers,
        ("connectivity", "routes", "rings"),
    ),
}


@shows_itself
@dataclass(frozen=True, slots=True)
class VerificationAnswer:
    """Checks of a plan or wiring, with their failures.

    Attributes
    ----------
    name : str
        File of the subject, or ``plan``.
    kind : str
        ``plan``, ``wiring`` or ``schedule``.
    servers, degree : int
        For a schedule its ranks, and the most others that one of them sends to.
    checks : tuple of Check
    """

    name: str
    kind: str
    servers: int
    degree: int
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether no check fails."""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that fail."""
        return tuple(check for check in self.checks if not check.passed)

    def lines(self) -> tuple[str, ...]:
        """Return a line for each check that fails: its first failure with its place, and how many more there are."""
        return tuple(
            f"{self.name}: {check.name}: {check.failures[0]}"
            + (f" (and {check.failed - 1:,} more)" if check.failed > 1 else "")
            for check in self.failed
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything as one mapping."""
        return {
            "source": self.name,
            **fields_of(self, "kind", "servers", "degree", "passed"),
            "checks": self._rows(),
        }

    def to_frame(self) -> Frame:
        """Return a row for each check, as pandas has it."""
        return frame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "check": check.name,
                "proves": CHECKS[check.name].text
                if check.name in CHECKS
                else "the file is one that can be read",
                "looked_at": check.looked_at,
                "passed": check.passed and not check.skipped,
                "skipped": check.skipped or None,
                "failed": check.failed,
                "failures": list(check.failures),
                "note": check.note,
            }
            for check in self.checks
        ]


def verified(subject: Subject, on_progress: Progress) -> VerificationAnswer:
    """Return the results of all checks.

    Parameters
    ----------
    on_progress
        Progress callback: topic, checks done, and total.
    """
    done: dict[str, Check] = {}
    for number, (name, row) in enumerate(CHECKS.items()):
        on_progress(f"verifying {name}", number, len(CHECKS))
        failed = [needed for needed in row.needs if not done[needed].passed]
        if failed:
            done[name] = Check(name, skipped=f"{failed[0]} must pass first")
            continue
        try:
            done[name] = row.look(subject)
        except TopoOptError as error:  # what nothing before it has found
            done[name] = Check(name, "", (str(error),), 1)
    kind = "wiring" if subject.plan is None else "plan"
    servers = subject.topology.servers
    return VerificationAnswer(subject.name, kind, servers, subject.degree, tuple(done.values()))


def unread(name: str, reason: str) -> VerificationAnswer:
    """Return the answer for an unreadable plan file: one failed check with the reason."""
    return VerificationAnswer(name, "plan", 0, 0, (Check("file", "1 file", (reason,), 1),))


def verified_schedule(name: str, text: str) -> VerificationAnswer:
    """Return the answer for a file of MSCCL: it is run, and every chunk arrives where it belongs, or not."""
    try:
        ran = run_msccl(text)
    except InvalidInput as error:
        reason = str(error).removeprefix("msccl: ")
        return VerificationAnswer(name, "schedule", 0, 0, (Check("schedule", "1 file", (reason,), 1),))
    looked_at = f"{ran.collective}: {counted(ran.messages, 'message')} on {counted(ran.channels, 'channel')}"
    wrong = (f"{counted(ran.missing, 'chunk')} did not arrive, or arrived wrong",) if ran.missing else ()
    check = Check("schedule", looked_at, wrong, len(wrong))
    return VerificationAnswer(name, "schedule", ran.ranks, ran.peers, (check,))


def _same(name: str, said: Any, found: Any) -> _Row:
    """Return whether stated and computed value agree; numbers up to rounding."""
    if isinstance(said, int | float) and isinstance(found, int | float):
        return name, said, f"it is {found}", bool(np.isclose(said, found, rtol=_SAME, atol=0.0))
    return name, said, f"it is {found}", bool(said == found)
