"""What the runs of a trace are called: by fabric, or by scheduler where one gives out single workers."""

from collections.abc import Callable, Sequence

from topoopt.clusters import FabricRun
from topoopt.pages.fabric_names import fabric_name, name_apart


def run_name(run: FabricRun) -> str:
    """Return the scheduler, or the fabric with the bandwidth of a server."""
    return run.schedule.scheduler if run.schedule else fabric_name(run)


def run_names_apart(runs: Sequence[FabricRun]) -> Callable[[FabricRun], str]:
    """Return what a run is called among these: the scheduler, or the fabric, with its bandwidth where needed."""
    by_fabric = name_apart(runs)
    return lambda run: run.schedule.scheduler if run.schedule else by_fabric(run)
