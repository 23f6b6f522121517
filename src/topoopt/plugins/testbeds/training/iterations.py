"""Ranks run iterations of a job, and these are timed."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.plugins.testbeds.training.ranks import Ranks
from topoopt.plugins.testbeds.training.script import ServerScript

AHEAD_S = 0.05
"""How long before an iteration its beginning is announced, so that all servers begin at the same moment."""
LOAD_LIMIT_S = 60.0
PATIENCE = 20.0
"""An iteration that takes so many times what is expected, and this many seconds, is given up."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """Seconds of each iteration, from the moment at which all servers begin to the one at which the last is done.

    Attributes
    ----------
    warm_up_s, measured_s : tuple of float
        Those that do not count and those that do.
    cpu_s : float
        Processor time of all processes in those that count; what the kernel does for them between two processes is
        in it only in part.
    """

    warm_up_s: tuple[float, ...]
    measured_s: tuple[float, ...]
    cpu_s: float

    @property
    def median_s(self) -> float:
        """Of those that count."""
        return float(np.median(self.measured_s))


def load_scripts(ranks: Ranks, scripts: Sequence[ServerScript]) -> None:
    """Give every member its part."""
    ranks.run("load", LOAD_LIMIT_S, [{"script": script} for script in scripts])


def one_iteration(ranks: Ranks, expected_s: float, meanwhile: Callable[[float], None] | None = None) -> float:
    """Run the loaded scripts once, and return the seconds that the slowest member took.

    Parameters
    ----------
    meanwhile : function, optional
        Called with the time at which the iteration begins, while it runs; such as one that cuts a link.
    """
    begin_s = time.monotonic() + AHEAD_S
    ranks.command("iterate", begin_s=begin_s)
    if meanwhile is not None:
        meanwhile(begin_s)
    ends_s = ranks.gather(PATIENCE * (1.0 + expected_s))
    return float(max(ends_s)) - begin_s


def run_iterations(
    ranks: Ranks,
    scripts: Sequence[ServerScript],
    expected_s: float,
    measured: int,
    warm_up: int = 1,
    between: Callable[[], None] | None = None,
) -> Iterations:
    """Run a job for some iterations, each on its own: the next begins when all servers are done with the last.

    Parameters
    ----------
    expected_s : float
        Of an iteration; far beyond it the run is given up.
    between : function, optional
        Called after the warm-up, when nothing is on the links; such as one that reads counters.
    """
    load_scripts(ranks, scripts)
    warm_up_s = tuple(one_iteration(ranks, expected_s) for _ in range(warm_up))
    if between is not None:
        between()
    cpu_s = ranks.cpu_s()
    measured_s = tuple(one_iteration(ranks, expected_s) for _ in range(measured))
    return Iterations(warm_up_s, measured_s, ranks.cpu_s() - cpu_s)
