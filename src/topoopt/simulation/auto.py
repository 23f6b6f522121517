"""The fidelity chooser: the closed form where nothing contends, else fair shares, and what error to expect."""

import dataclasses
from dataclasses import dataclass

from topoopt.routing import Fabric
from topoopt.simulation.analytic import analytic_of_flows
from topoopt.simulation.auto_contention import contends
from topoopt.simulation.auto_expected_error import NOTHING_CONTENDS, ExpectedError, expected_error
from topoopt.simulation.flow import flow
from topoopt.simulation.flows import make_flows
from topoopt.simulation.options import DEFAULT_OPTIONS, SimulationOptions
from topoopt.simulation.report import Report
from topoopt.simulation.result import SimResult
from topoopt.simulation.schedules.tasks import with_schedules
from topoopt.simulation.task_graph import TaskGraph

AUTO = "auto"
"""Name under which the chooser stands beside the simulators that it chooses from."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A result, why this simulator made it, and how far it may be from packets."""

    result: SimResult
    reason: str
    expected_error: ExpectedError


def choose_and_simulate(
    graph: TaskGraph,
    fabric: Fabric,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
) -> Choice:
    """Simulate with the cheapest simulator that is as good as packets, or near.

    The analytic simulator runs first, every transfer over all its paths. If no link ever serves two
    transfers at once, its times are closed forms, and stand.
    Otherwise the flow simulator shares the links, each transfer on one path drawn for it, as packets have it
    (unless the options ask for something else than ``spread``, the default).

    Raises
    ------
    NoRoute, InvalidInput
        As :func:`topoopt.simulation.simulate`.
    """
    graph, algorithms = with_schedules(graph, fabric, options)
    choice = _chosen(graph, fabric, options, on_progress)
    return dataclasses.replace(choice, result=dataclasses.replace(choice.result, algorithms=algorithms))


def _chosen(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, on_progress: Report | None
) -> Choice:
    if fabric.reconfiguration is not None:
        result = flow(graph, fabric, options, on_progress)
        return Choice(result, "circuits change under way", expected_error(result))
    flows = make_flows(graph, fabric, options)
    alone = analytic_of_flows(graph, fabric, flows, options)
    if not contends(graph, flows, alone.start_s, fabric.topology.bandwidth_bps / 8.0):
        return Choice(alone, "no link ever has two transfers at once", NOTHING_CONTENDS)
    if options.split == DEFAULT_OPTIONS.split:
        options = dataclasses.replace(options, split="one")
    result = flow(graph, fabric, options, on_progress)
    return Choice(result, "transfers share links", expected_error(result))
