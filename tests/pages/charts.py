"""One chart of each kind, small."""

import math

from topoopt.pages import (
    Bar,
    BarChart,
    Chart,
    CircleChart,
    HeatmapChart,
    LineChart,
    RingLine,
    Route,
    Series,
    TimelineChart,
)
from topoopt.pages.chart import Arc, Limit, PolarChart, StageBox, StagesChart

SPEEDS = (10, 25, 40, 100, 200)
MODELS = ("DLRM", "BERT", "VGG16")


def lines() -> LineChart:
    return LineChart(
        "bandwidth",
        "Iteration time against bandwidth",
        "bandwidth of a link (Gb/s)",
        "iteration time (ms)",
        (
            Series("topoopt", SPEEDS, (90, 40, 30, math.nan, 10)),
            Series("fat-tree", SPEEDS, (270, 130, 90, 30, 20)),
            Series("fat-tree (published)", SPEEDS, (280, 120, 95, 33, 22), published=True, joined=False),
        ),
        x_log=True,
        y_log=True,
        note="A remark <with> signs & letters.",
    )


def memory() -> BarChart:
    series = (
        Series("weights", ("tp8", "tp4"), (30.0, 60.0)),
        Series("activations", ("tp8", "tp4"), (20.0, 41.0)),
    )
    limit = Limit(80.0, "an accelerator has 80 GiB")
    return BarChart(
        "memory", "Memory", "", "memory (GiB)", series, stacked=True, horizontal=True, limits=(limit,)
    )


def stages(count: int = 4) -> StagesChart:
    boxes = tuple(
        StageBox(
            f"stage {index}", (f"layers {8 * index}–{8 * index + 7}", f"server {index}"), 0.01 + 0.001 * index
        )
        for index in range(count)
    )
    return StagesChart("stages", "Stages", boxes, (2e6,) * (count - 1), "Then back to the first: 2 MB")


def bars(*, stacked: bool = False, horizontal: bool = False) -> BarChart:
    series = (
        Series("ours", MODELS, (15.0, 20.0, math.nan)),
        Series("published", MODELS[::2], (16.0, 100.56), published=True),
    )
    return BarChart("models", "By model", "model", "ms", series, stacked, horizontal)


def heatmap(*, log: bool = True) -> HeatmapChart:
    values = ((0.0, 1e6, 2e9), (3.0, 0.0, math.nan), (1.0, 5.0, 0.0))
    return HeatmapChart("traffic", "Traffic", "to", "from", "bytes", values, log)


def bars_over_time() -> TimelineChart:
    bars = (
        Bar(0, 0.0, 0.5, "forward", "dense"),
        Bar(0, 0.5, 1.5, "backward", "dense"),
        Bar(1, 0.6, 1.8, "AllReduce"),
    )
    return TimelineChart("iteration", "Iteration", "", ("compute", "network"), bars)


def circle(servers: int = 8, switches: int = 0, groups: tuple[str, str] = ("", "")) -> CircleChart:
    links = tuple(
        (i, (i + step) % servers, 1, 1e6) for i in range(servers) for step in (1, servers - 1, 3, servers - 3)
    )
    up = tuple((i, servers + k, 1, 2e6) for i in range(servers) for k in range(switches))
    rings = tuple(
        RingLine(f"ring +{step}", tuple(i * step % servers for i in range(servers)), group)
        for step, group in zip((1, 3), groups, strict=True)
    )
    routes = (Route(0, 2, ((0.5, (0, 1, 2)), (0.5, (0, 7, 2)))),)
    return CircleChart("topology", "Topology", servers, servers + switches, links + up, rings, routes)


def polar() -> PolarChart:
    arcs = (Arc(0, 30, 0.2, 0.4, "a"), Arc(330, 60, 0.5, 0.7, "b", "b, <wraps>"))
    return PolarChart(
        "circles", "Circles", ("a", "b", "none"), arcs, ((0.9, "capacity"),), ((0, "0 s"), (180, "1 s"))
    )


def every_kind() -> tuple[Chart, ...]:
    return (lines(), bars(), memory(), heatmap(), bars_over_time(), circle(), polar(), stages())


EMPTY = (
    LineChart("empty", "Empty", "x", "y", ()),
    LineChart("points", "No points", "x", "y", (Series("a", (), ()),), x_log=True, y_log=True),
    LineChart("below", "Nothing above zero", "x", "y", (Series("a", (1, 2), (0, -1)),), y_log=True),
    BarChart("bars", "No bars", "x", "y", ()),
    BarChart("gaps", "Gaps only", "x", "y", (Series("a", ("u",), (float("nan"),)),), stacked=True),
    HeatmapChart("zeros", "Zeros", "x", "y", "bytes", ((0.0, 0.0), (0.0, 0.0)), value_log=True),
    HeatmapChart("nothing", "No number", "x", "y", "bytes", ((float("nan"),),)),
    TimelineChart("idle", "Idle", "", (), ()),
    CircleChart("alone", "No links", 2, 2, (), ()),
    CircleChart("many", "No links of many", 200, 200, (), ()),
    PolarChart("still", "Nothing sends", ("a",), (), (), ()),
    StagesChart("one", "One stage", (StageBox("stage 0", (), 0.0),), ()),
)
"""Charts of nothing, or of next to nothing."""
