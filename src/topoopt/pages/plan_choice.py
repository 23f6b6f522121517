"""How good a plan is and how it was found: bounds, convergence, restarts."""

from topoopt.pages.chart import BarChart, LineChart, Series
from topoopt.pages.work_pages import work_page
from topoopt.plans import Plan

BOUNDS = {
    "injection_s": "every server's bytes at d·B",
    "average_hop_s": "bytes × hops of the best graph",
    "critical_path_s": "longest chain",
}

PARTS = {"wiring_s": "wiring", "routing_s": "routing", "schedule_s": "schedule", "rounds_s": "rounds"}


def bounds_chart(plan: Plan) -> BarChart:
    """Return the lower bounds beside the plan's time, and what the gap is made of, in milliseconds."""
    meanings = {"compute_s": work_page(plan).free, **BOUNDS}
    times_ms = [getattr(plan.bounds, name) * 1e3 for name in meanings]
    names, nan = (*meanings.values(), "this plan"), float("nan")
    bounds = Series("lower bound", names, (*times_ms, nan))
    before = (nan,) * len(meanings)
    own = [Series("this plan", names, (*before, plan.outcome.iteration_time_s * 1e3))]
    if plan.gap_parts is not None:
        parts_s = {word: getattr(plan.gap_parts, name) for name, word in PARTS.items()}
        own = [
            Series("largest bound", names, (*before, plan.bounds.lower_bound_s * 1e3)),
            *(Series(word, names, (*before, seconds * 1e3)) for word, seconds in parts_s.items() if seconds),
        ]
    return BarChart(
        "bounds",
        "Lower bounds of the iteration time",
        "",
        "time (ms)",
        (bounds, *own),
        stacked=True,
        horizontal=True,
        note=f"The plan takes {plan.gap:.1%} more than the largest bound, which holds for its "
        f"{plan.job.work.strategy_word}.",
    )


def convergence_chart(plan: Plan) -> tuple[LineChart, ...]:
    """Return the best time so far over the proposals of the best chain; nothing where nothing was searched."""
    points = plan.search.convergence
    if not points or plan.job.work.choices(plan.job.cluster.servers):  # the layouts have a chart of their own
        return ()
    proposals, times_s = zip(*points, strict=True)
    chains_ms = tuple(time_s * 1e3 for time_s in plan.search.seed_times_s)
    last = max(plan.search.proposals // max(len(chains_ms), 1), proposals[-1])
    best_ms = tuple(time_s * 1e3 for time_s in (*times_s, times_s[-1]))
    bound_ms = plan.bounds.lower_bound_s * 1e3
    chart = LineChart(
        "convergence",
        "Search: best time found so far",
        "proposals of the best chain",
        "iteration time (ms)",
        (
            Series("best so far", (*proposals, last), best_ms, stepped=True),
            Series("answer of each chain", (last,) * len(chains_ms), chains_ms, joined=False),
            Series("lower bound", (0, last), (bound_ms, bound_ms), marked=False),
        ),
        note="The answers are simulated again with their final routes, and so may be better or worse than the search "
        "thought.",
    )
    return (chart,)
