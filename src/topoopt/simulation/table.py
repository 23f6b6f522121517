"""The table of simulators: all read one task graph and give one kind of result."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from topoopt.base.errors import check_known
from topoopt.routing import Fabric
from topoopt.simulation.analytic import analytic
from topoopt.simulation.flow import flow
from topoopt.simulation.options import DEFAULT_OPTIONS, SimulationOptions
from topoopt.simulation.packet.simulator import packet
from topoopt.simulation.report import Report
from topoopt.simulation.result import SimResult
from topoopt.simulation.schedules.tasks import with_schedules
from topoopt.simulation.task_graph import TaskGraph


class Simulator(Protocol):
    """One fidelity."""

    def __call__(
        self,
        graph: TaskGraph,
        fabric: Fabric,
        options: SimulationOptions = ...,
        on_progress: Report | None = None,
    ) -> SimResult:
        """Return when every task of the graph is done on the fabric.

        Parameters
        ----------
        on_progress : Report, optional
            Told how much is done, from 0 to 1, by simulators that take their time.

        Raises
        ------
        NoRoute
            If two servers that have to talk cannot reach each other.
        """
        ...


SIMULATORS: Mapping[str, Simulator] = {"analytic": analytic, "flow": flow, "packet": packet}


def simulate(
    simulator: str,
    graph: TaskGraph,
    fabric: Fabric,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
) -> SimResult:
    """Run the named simulator, collectives by the algorithm that the options ask for.

    Where that is not the ring, the graph of the result holds their transfers behind the tasks given.

    Raises
    ------
    InvalidInput
        If there is no such simulator, or a schedule would have too many transfers.
    """
    check_known("simulator", simulator, SIMULATORS)
    graph, algorithms = with_schedules(graph, fabric, options)
    return replace(SIMULATORS[simulator](graph, fabric, options, on_progress), algorithms=algorithms)
