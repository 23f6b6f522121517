"""Which layouts of a large job are worth simulating: those that may still become the fastest."""

from collections.abc import Sequence
from functools import lru_cache
from math import inf

from topoopt.jobs import Job, Layout, TransformerWork
from topoopt.simulation import analytic_flows, free_time_s

LARGE = 1_000_000
"""Flows of all layouts of a job together from which on layouts that cannot win are left out: a second of CPU time for
every fabric."""

NEAR = 1.02
"""Times the fastest within which a layout is simulated to its end: one that leaves memory free is taken although it is
a percent slower, and on links that are shared first come, first served, fewer micro-batches do not tell all of more."""


def is_large(job: Job) -> bool:
    """Return whether layouts are left out of simulations that cannot win."""
    work = job.work
    return isinstance(work, TransformerWork) and _flows(work.layouts) > LARGE


def to_beat_s(job: Job, fastest_s: float) -> float:
    """Return the time from which on a layout is not simulated to its end, where the fastest so far takes so long."""
    return NEAR * fastest_s if is_large(job) else inf


def least_time_s(job: Job, index: int) -> float:
    """Return the time of a layout with free communication, the same on every fabric."""
    assert isinstance(job.work, TransformerWork)
    return _free_time_s(job.work.layouts[index].step)


_free_time_s = lru_cache(maxsize=64)(free_time_s)


def _flows(layouts: Sequence[Layout]) -> int:
    return sum(_step_flows(layout.step) for layout in layouts)


_step_flows = lru_cache(maxsize=256)(analytic_flows)
