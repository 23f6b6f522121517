"""Numbers: what a plan states is what comes out when it is computed anew, and no time is below its bound."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from topoopt.search import iteration_bounds, outcome
from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Subject
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
"""Name, what is said, what comes out in words, and whether that is good."""


def _times(subject: Subject) -> Iterator[_Row]:
    found = outcome(subject.simulated)
    for name in _TIMES:
        said, again = getattr(subject.stated, name), getattr(found, name)
        scale = found.iteration_time_s if name.endswith("_s") else 1.0
        yield name, said, f"it is {again}", abs(said - again) <= _SAME * scale
    yield _same("algorithms", dict(subject.stated.algorithms), dict(found.algorithms))


def _bounds(subject: Subject) -> Iterator[_Row]:
    """Yield the bounds, none of which may be above the time, and what follows from both."""
    plan, result = subject.plan, subject.simulated
    assert plan is not None
    time_s, bound_s = plan.outcome.iteration_time_s, plan.bounds.lower_bound_s
    for name, found in asdict(iteration_bounds(plan.job, plan.strategy, result)).items():
        said = getattr(plan.bounds, name)
        if said or name != "critical_path_s":  # plans that were made before it was known have 0
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
    """Yield what a plan file repeats, and nobody reads, for it follows from the rest."""
    plan, says = subject.plan, subject.document or {}
    assert plan is not None
    hops, traffic = hop_metrics(subject.topology), plan.traffic()
    facts = {
        "diameter": hops.diameter,
        "average_hops": hops.average_hops,
        "hop_histogram": {str(far): int(count) for far, count in enumerate(hops.histogram) if count},
        "allreduce_bytes": traffic.allreduce_bytes,
        "mp_bytes": traffic.mp_bytes,
        "lower_bound_s": plan.bounds.lower_bound_s,
        "gap": plan.gap,
        "strides": list(plan.strides),
    }
    for name, found in facts.items():
        if name in says:
            yield _same(name, says[name], found)
    for index, row in enumerate(says.get("baselines", ())):
        relative = row["iteration_time_s"] / plan.outcome.iteration_time_s
        yield _same(f"baselines[{index}].relative_time", row["relative_time"], relative)
    bill = (says.get("price") or {}).get("bill") or []
    for index, line in enumerate(bill):
        if line["unit_usd"] is not None:
            yield _same(f"price.bill[{index}].total_usd", line["total_usd"], line["count"] * line["unit_usd"])
    if bill:
        known = [line["total_usd"] for line in bill if line["total_usd"] is not None]
        whole = sum(known) if len(known) == len(bill) else None
        yield _same("cost_usd", says.get("cost_usd"), whole)


def _same(name: str, said: Any, found: Any) -> _Row:
    """Return whether what is said is what comes out; numbers but for rounding."""
    if isinstance(said, int | float) and isinstance(found, int | float):
        return name, said, f"it is {found}", bool(np.isclose(said, found, rtol=_SAME, atol=0.0))
    return name, said, f"it is {found}", bool(said == found)
