"""The charts of figure 11: a curve for each fabric, and the ratios beside the published ones."""

from collections.abc import Iterator, Mapping, Sequence

from topoopt.report import BarChart, LineChart, Series
from topoopt.reproduction.fig11_cells import DATA_PARALLEL, PRICED_TREE, RELEASED, WIDE, FabricTime
from topoopt.reproduction.published_jobs import MODEL_TITLES

FABRIC_TITLES = {
    "topoopt": "TopoOpt",
    "ideal-switch": "ideal switch",
    "fat-tree": "fat-tree, d·B/3.2",
    PRICED_TREE: "fat-tree, list prices",
    "oversub-fat-tree": "fat-tree, 2:1",
    "expander": "expander",
    "sip-ml": "SiP-ML",
    "ocs-reconfig": "OCS-reconfig, 10 ms",
}
STRATEGY_TITLES = {
    DATA_PARALLEL: "ours, data parallel",
    RELEASED: "ours, authors' search",
    WIDE: "ours, own search",
}

Times = Mapping[tuple[str, int, float, str, str], FabricTime]


def time_charts(times: Times, models: Sequence[str], degrees: Sequence[int]) -> Iterator[LineChart]:
    """Yield a chart of iteration times for each model and degree, data parallel."""
    for degree in degrees:
        for model in models:
            series = []
            for fabric, title in FABRIC_TITLES.items():
                rows = [row for key, row in times.items() if key[0] == model and key[1] == degree]
                rows = [row for row in rows if (row.fabric, row.strategy) == (fabric, DATA_PARALLEL)]
                rows.sort(key=lambda row: row.bandwidth_bps)
                if rows:
                    x = tuple(row.bandwidth_bps / 1e9 for row in rows)
                    series.append(Series(title, x, tuple(row.iteration_time_s * 1e3 for row in rows)))
            yield LineChart(
                f"fig11-{model}-d{degree}",
                f"{MODEL_TITLES[model]}, {next(iter(times.values())).servers} servers, d={degree}, data parallel",
                "interface bandwidth B, Gb/s",
                "iteration time, ms",
                tuple(series),
                x_log=True,
                y_log=_far_apart(series),
                y_from_zero=not _far_apart(series),
            )


def _far_apart(series: Sequence[Series]) -> bool:
    """Return whether values differ by more than half; else a logarithmic axis would make mountains of nothing."""
    values = [value for row in series for value in row.y]
    return max(values) > 1.5 * min(values)


def ratio_chart(ours: Mapping[str, Mapping[str, float]], published: Mapping[str, float]) -> BarChart:
    """Return the mean ratio of the fat-tree to TopoOpt for each model, by strategy and as published."""
    models = tuple(next(iter(ours.values())))
    words = tuple(MODEL_TITLES[model] for model in models)
    bars = [
        Series(STRATEGY_TITLES[strategy], words, tuple(ratios[model] for model in models))
        for strategy, ratios in ours.items()
    ]
    memory = Series(
        "published (from memory)", words, tuple(published[model] for model in models), published=True
    )
    return BarChart(
        "fig11-ratios",
        "Fat-tree of d·B/3.2 over TopoOpt, d=4, mean over bandwidths",
        "",
        "iteration time, times TopoOpt's",
        (*bars, memory),
    )
