"""Measure the hot loops and print each figure beside its limit and the original: ``make bench``.

``python -m benchmarks.run search topology`` runs some of them. The exit code is 1 when a limit is missed.
"""

import sys
from collections.abc import Callable, Iterator

from benchmarks import (
    clusters,
    flows,
    interleaving,
    packets,
    periodic_jobs,
    plans,
    program,
    routing,
    schedulers,
    search,
    simulators,
    single_calls,
    step_times,
    topology,
)
from benchmarks.figure import Figure

TABLE: dict[str, Callable[[], Iterator[Figure]]] = {
    "topology": topology.figures,
    "routing": routing.figures,
    "search": search.figures,
    "simulators": simulators.figures,
    "flows": flows.figures,
    "packets": packets.figures,
    "clusters": clusters.figures,
    "interleaving": interleaving.figures,
    "periodic-jobs": periodic_jobs.figures,
    "schedulers": schedulers.figures,
    "step-times": step_times.figures,
    "program": program.figures,
    "plans": plans.figures,
    "single-calls": single_calls.figures,
}
ROW = "{:<44} {:>12} {:<16} {:>12} {:>6} {:>10} {:>10}"


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(TABLE))
    if unknown:
        print(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(TABLE)}", file=sys.stderr)
        return 2
    print(ROW.format("what", "measured", "unit", "limit", "met", "original", "ratio"))
    met = True
    for name in names or TABLE:
        for figure in TABLE[name]():
            print(row(figure), flush=True)
            met = met and figure.is_met
    return 0 if met else 1


def row(figure: Figure) -> str:
    ratio = figure.times_better
    return ROW.format(
        figure.what,
        f"{figure.value:,.4g}",
        figure.unit,
        f"{'≥' if figure.more_is_better else '≤'} {figure.limit:,g}",
        "yes" if figure.is_met else "NO",
        "" if figure.original is None else f"{figure.original:,g}",
        "" if ratio is None else f"{ratio:,.0f} ×",
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
