"""Which layouts of a large job are worth simulating: those that free communication would make the fastest so far."""

from collections.abc import Sequence

from topoopt.job import Job, Layout, TransformerWork
from topoopt.simulate import analytic_flows, free_time_s

LARGE = 1_000_000
"""Flows of all layouts of a job together from which on layouts that cannot win are left out: a second of CPU time for
every fabric."""


def is_large(job: Job) -> bool:
    """Return whether layouts are left out of simulations that cannot win."""
    work = job.work
    return isinstance(work, TransformerWork) and _flows(work.layouts) > LARGE


def least_time_s(job: Job, index: int) -> float:
    """Return the time of a layout with free communication, 0 where nothing is left out."""
    assert isinstance(job.work, TransformerWork)
    return free_time_s(job.work.layouts[index].step) if is_large(job) else 0.0


def _flows(layouts: Sequence[Layout]) -> int:
    return sum(analytic_flows(layout.step) for layout in layouts)
