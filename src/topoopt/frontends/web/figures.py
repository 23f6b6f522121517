"""The charts of the live page, described as those of a report: money against time, and where the time goes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from topoopt.frontends.web.estimate import FabricEstimate, StudioAnswer
from topoopt.pages import BarChart, LineChart, Series, figure
from topoopt.plans import front

PARTS: Mapping[str, str] = MappingProxyType(
    {
        "compute_s": "computing",
        "bubble_s": "waiting for other stages",
        "tp_s": "tensor parallel",
        "cp_s": "context parallel",
        "ep_s": "experts, all to all",
        "pp_s": "between stages",
        "dp_s": "gradients and weights",
        "communication_s": "communication",
    }
)
"""What the time goes into, in words."""
FRONT, RELAYED = "front", "all relayed"
SEEN = 1.002
"""Times an estimate, from which on its range is worth a mark."""


def figures(answer: StudioAnswer) -> dict[str, Any]:
    """Return the charts by name, as the report's modules of JavaScript draw them."""
    return {"money": figure(_money(answer)), "parts": figure(_parts(answer))}


def _money(answer: StudioAnswer) -> LineChart:
    rows = [row for row in answer.fabrics if row.network_usd is not None]
    best = front(rows, lambda row: row.network_usd, lambda row: row.iteration_time_s)
    wide = [row for row in rows if row.most_time_s > SEEN * row.iteration_time_s]
    series = [
        Series(FRONT, _usd(best), tuple(row.iteration_time_s for row in best), stepped=True, marked=False)
    ]
    series += [Series(row.name, _usd([row]), (row.iteration_time_s,), joined=False) for row in rows]
    if wide:
        names = tuple(row.name for row in wide)
        series.append(
            Series(
                RELAYED,
                _usd(wide),
                tuple(row.most_time_s for row in wide),
                published=True,
                joined=False,
                labels=names,
            )
        )
    return LineChart(
        "money", "Money against time", "price of the network, $", "time of an iteration, s", tuple(series)
    )


def _parts(answer: StudioAnswer) -> BarChart:
    rows = sorted(answer.fabrics, key=lambda row: row.iteration_time_s)
    used = [part for part in PARTS if any(part in row.parts_s for row in rows)]
    names = tuple(row.name for row in rows)
    series = tuple(
        Series(PARTS[part], names, tuple(row.parts_s.get(part, 0.0) for row in rows)) for part in used
    )
    return BarChart(
        "parts",
        "Where the time goes",
        "fabric",
        "time of an iteration, s",
        series,
        stacked=True,
        horizontal=True,
    )


def _usd(rows: list[FabricEstimate] | tuple[FabricEstimate, ...]) -> tuple[float, ...]:
    return tuple(row.network_usd for row in rows if row.network_usd is not None)
