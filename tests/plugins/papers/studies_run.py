"""Studies run once for all tests of a process: whole where that takes seconds, else on few servers and points."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import pytest

from topoopt.plugins.papers import Figure, StudySettings, find_study
from topoopt.plugins.papers.cassini import TraceGrid, cassini_on
from topoopt.plugins.papers.fig11 import Fig11Grid, fig11_on
from topoopt.plugins.papers.fig16_17 import IN_A_ROW, Fig16Grid, Fig17Grid, fig16_on, fig17_on
from topoopt.plugins.papers.mixnet import AT_400G, MixnetGrid, mixnet_on
from topoopt.plugins.papers.serving import ServingGrid, serving_on
from topoopt.plugins.papers.wirings import WiringsGrid, wirings_on

SETTINGS = StudySettings(quick=True)
QUICK_ONES = ("fig10", "fig12", "fig13", "fig14", "fig15", "mltcp", "motivation", "table1")


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def _cassini() -> Figure:
    return cassini_on(TraceGrid(900.0, shards=False), SETTINGS, silent)


def _fig11() -> Figure:
    grid = Fig11Grid(("vgg16", "dlrm"), 8, (4,), (25e9, 100e9), (100e9,), (100e9,), (), 20, 20)
    return fig11_on(grid, SETTINGS, silent)


def _fig16() -> Figure:
    return fig16_on(Fig16Grid((3,), (IN_A_ROW,), 1, 20, 20), SETTINGS, silent)


def _fig17() -> Figure:
    return fig17_on(Fig17Grid(8, ("bert",), (4,), (10e-6, 10e-3), (10e-6, 10e-3)), SETTINGS, silent)


def _mixnet() -> Figure:
    return mixnet_on(MixnetGrid((("llama-moe", AT_400G),), (0, 100), 28, ()), SETTINGS, silent)


def _wirings() -> Figure:
    grid = WiringsGrid(
        servers=16,
        degrees=(3, 4),
        bandwidth_bps=100e9,
        batch=0,
        models=("dlrm", "vgg16"),
        experts=(),
        expert_servers=16,
        expert_bps=400e9,
        job_degrees=(4,),
        planned_degrees=(4,),
        budget=100,
        search_s=0.2,
        records=((64, 8),),
    )
    return wirings_on(grid, SETTINGS, silent)


def _serving() -> Figure:
    return serving_on(ServingGrid(100_000, 1_000, searched=False), SETTINGS, silent)


MINIATURES: Mapping[str, Callable[[], Figure]] = {
    "cassini": _cassini,
    "fig11": _fig11,
    "fig16": _fig16,
    "fig17": _fig17,
    "mixnet": _mixnet,
    "serving": _serving,
    "wirings": _wirings,
}
"""Figures that take minutes, or half a minute, in small."""
ALL = (*QUICK_ONES, *MINIATURES)
LONG = {"cassini", "fig12"}
"""Those that take most of a minute even so."""


def marked(names: Iterable[str]) -> list[Any]:
    """Return names as parameters of a test, the long ones marked."""
    return [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in names]


@cache
def run(name: str) -> Figure:
    """Return a figure, made as ``topoopt reproduce NAME --quick`` does, or a miniature of it."""
    if name in MINIATURES:
        return MINIATURES[name]()
    return find_study(name).study(SETTINGS, silent)


def compared(figure: Figure, what: str) -> float:
    """Return our value of the one comparison whose name starts like this."""
    (row,) = (row for row in figure.comparisons if row.what.startswith(what))
    return row.ours
