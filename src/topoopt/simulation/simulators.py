"""The table of simulators, and ``auto``, which chooses one of them by contention and expected error."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from topoopt.base.errors import check_known
from topoopt.collectives import packets
from topoopt.routing import Fabric
from topoopt.simulation.analytic.simulator import analytic, analytic_of_flows
from topoopt.simulation.flows.flows import contends, make_flows
from topoopt.simulation.fluid.simulator import flow
from topoopt.simulation.options import DEFAULT_OPTIONS, Report, SimulationOptions
from topoopt.simulation.packet.simulator import packet
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import ALL_TO_ALL, TRANSFER, TaskGraph
from topoopt.simulation.tasks.collective_schedules import with_schedules

SOURCE = (
    "flow against packet on the authors' task graphs of 12, 16 and 128 servers at 10 to 800 Gb/s, on the ideal switch, "
    "fat-tree, circulant, expander and torus (benchmarks/flow_error.py)"
)


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Distances of iteration times from those of packets, relative, without sign.

    Attributes
    ----------
    traffic : str
        The kind of traffic that was measured.
    median, p90, largest : float
        Statistics over ``runs`` runs. Flow is nearly always the faster one: it has no queues.
    caution : str
        Differences between this run and the measured ones; empty if there are none.
    """

    traffic: str
    median: float
    p90: float
    largest: float
    runs: int
    source: str = SOURCE
    caution: str = ""


NOTHING_CONTENDS = ExpectedError(
    "nothing contends",
    0.0,
    0.0,
    0.0,
    0,
    "closed forms that packets meet to the picosecond on paths of equal length (tests/simulation/test_micro_cases.py)",
)
ALLREDUCE_ALONE = ExpectedError("AllReduce and no transfers", 0.0001, 0.0002, 0.0006, 22)
MOSTLY_ALLREDUCE = ExpectedError("AllReduce and some transfers, as DLRM", 0.019, 0.083, 0.183, 43)
MANY_TRANSFERS = ExpectedError("long backlogs of transfers, as CANDLE", 0.059, 0.150, 0.161, 21)
MANY = 0.15
"""Share of transfers in all bytes between DLRM's graphs (at most 0.11) and CANDLE's (at least 0.22)."""
WINDOW_PACKETS = 100
SHORT = 4
"""Windows up to which transfers end before the window has converged."""
FAN = 3
"""Transfers of one server that start together, from which they count as a burst."""
BURST_SHARE = 0.5
"""Part of all bytes that bursts may have; in DLRM's graphs they have a tenth, and no harm comes of it."""
CAUTION = (
    "many transfers of about one window (100 packets) start together: in a synchronized all-to-all of 8 to 32 "
    "servers on a switch packets take 1.3 to 1.7 times the flow time; see the packet simulator"
)


def expected_error(result: SimResult) -> ExpectedError:
    """Return the expected deviation of a flow-simulator result from the packet simulator."""
    graph = result.graph
    away = (graph.kind == TRANSFER) & (graph.src != graph.dst)
    size = np.diff(graph.member_first)
    exchanged = np.where(graph.collective == ALL_TO_ALL, graph.size_bytes * np.maximum(size - 1, 0), 0)
    moved = float(graph.size_bytes[away].sum() + exchanged.sum())
    share = moved / result.demanded_bytes if result.demanded_bytes else 0.0
    known = ALLREDUCE_ALONE if share == 0 else MOSTLY_ALLREDUCE if share < MANY else MANY_TRANSFERS
    if burst_share(result) <= BURST_SHARE:
        return known
    return ExpectedError(
        known.traffic, known.median, known.p90, known.largest, known.runs, known.source, CAUTION
    )


def burst_share(result: SimResult) -> float:
    """Return the share of bytes in short transfers of which a server starts several at once."""
    graph = result.graph
    short = (graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0)
    short &= packets(graph.size_bytes) <= SHORT * WINDOW_PACKETS
    rows = np.flatnonzero(short)
    if not len(rows) or not result.demanded_bytes:
        return 0.0
    together = np.stack([graph.src[rows].astype(np.float64), result.start_s[rows]], axis=1)
    _, group, count = np.unique(together, axis=0, return_inverse=True, return_counts=True)
    inside = rows[count[group.ravel()] >= FAN]
    return float(graph.size_bytes[inside].sum()) / result.demanded_bytes


AUTO = "auto"
"""Name of the chooser among the simulators."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A result, why this simulator made it, and how far it may be from packets."""

    result: SimResult
    reason: str
    expected_error: ExpectedError


class Simulator(Protocol):
    """One fidelity."""

    def __call__(
        self,
        graph: TaskGraph,
        fabric: Fabric,
        options: SimulationOptions = ...,
        on_progress: Report | None = None,
    ) -> SimResult:
        """Return the times of every task on the fabric.

        Parameters
        ----------
        on_progress : Report, optional
            Progress callback of simulators that take long; called with the fraction done, from 0 to 1.

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
    """Run the named simulator, collectives by the algorithm that the options request.

    Where that is not the ring, the graph of the result holds their transfers behind the tasks given.

    Raises
    ------
    InvalidInput
        If there is no such simulator, or a schedule would have too many transfers.
    """
    check_known("simulator", simulator, SIMULATORS)
    graph, algorithms = with_schedules(graph, fabric, options)
    return replace(SIMULATORS[simulator](graph, fabric, options, on_progress), algorithms=algorithms)


def choose_and_simulate(
    graph: TaskGraph,
    fabric: Fabric,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
) -> Choice:
    """Simulate with the cheapest simulator that is as good as packets, or near.

    The analytic simulator runs first, every transfer over all its paths. If no link ever serves two transfers at once,
    its times are closed forms, and stand. Otherwise the flow simulator shares the links, each transfer on one path
    drawn for it, as packets have it (unless the options ask for something else than ``spread``, the default).

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
