"""Studies run once for all tests of a process; those named here take seconds."""

from functools import cache

from topoopt.reproduction import Figure, StudySettings, find_study

QUICK_ONES = ("fig10", "fig12", "fig13", "fig14", "fig15", "table1")


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@cache
def run(name: str) -> Figure:
    """Return a figure, made as ``topoopt reproduce NAME --quick`` does."""
    return find_study(name).study(StudySettings(quick=True), silent)


def compared(figure: Figure, what: str) -> float:
    """Return our value of the one comparison whose name starts like this."""
    (row,) = (row for row in figure.comparisons if row.what.startswith(what))
    return row.ours
