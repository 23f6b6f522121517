"""Flows weighed by MLTCP's F: the recursion of the theory, on real task graphs; and nothing else changes."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    DECREASING,
    FAIR,
    TRANSFER,
    Aggressiveness,
    JobsTogether,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    simulate_together,
    task_graph_from_edges,
)
from topoopt.topologies import Link, topology_from_links

C = 10e9
NONE = np.zeros(0, np.int64)


def job(part: float, period_s: float = 1.0) -> TaskGraph:
    """Server 0 computes, and then sends to server 1 for a part of the period."""
    rows = [
        TaskRows(COMPUTE, 1, (1 - part) * period_s, server=0),
        TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=int(part * period_s * C / 8)),
    ]
    return task_graph_from_edges(2, rows, np.array([0]), np.array([1]))


def bottleneck() -> Fabric:
    """Servers 0 and 1 send to 2 and 3 over one link of C between two switches; all other links are wide."""
    ends = [(0, 4), (1, 4), (5, 2), (5, 3)]
    wide = [Link(a, b, 100 * C, 1e-9) for pair in ends for a, b in (pair, pair[::-1])]
    topology = topology_from_links(
        "bottleneck", 4, [*wide, Link(4, 5, C, 1e-9), Link(5, 4, C, 1e-9)], nodes=6
    )
    return Fabric("bottleneck", topology, make_routes("single-shortest", topology), {})


def run(part: float, offset: float, form: Aggressiveness | None, iterations: int = 10) -> JobsTogether:
    return simulate_together(
        "flow",
        [job(part), job(part)],
        bottleneck(),
        ((0, 2), (1, 3)),
        SimulationOptions(aggressiveness=form),
        iterations=iterations,
        begin_s=(0.0, offset * part),
    )


def test_weighted_flows_give_the_iteration_times_of_the_recursion() -> None:
    first, second = run(0.4, 0.05, Aggressiveness()).iteration_times_s
    expected = [1.2815, 1.0916, 1.0143, 1.0019, 1.0003]
    np.testing.assert_allclose(first[:5], expected, atol=3e-4)
    np.testing.assert_allclose(second[1:6], expected, atol=3e-4)
    np.testing.assert_allclose(first[-2:], 1.0, atol=1e-4)


def test_without_weights_the_offset_stays() -> None:
    for form in (None, FAIR):
        for times_s in run(0.4, 0.05, form).iteration_times_s:
            np.testing.assert_allclose(times_s, 1.38, rtol=1e-4)


def test_jobs_that_do_not_fit_settle_at_the_bytes_of_both() -> None:
    times_s = run(0.6, 0.05, Aggressiveness(), 16).iteration_times_s[0]
    np.testing.assert_allclose(times_s[-6:], 1.2, rtol=1e-3)


def test_a_decreasing_form_locks_jobs_in_full_overlap() -> None:
    assert run(0.4, 0.8, DECREASING, 20).iteration_times_s[0][-1] == pytest.approx(1.4, abs=2e-3)


def test_one_job_is_not_changed_by_weights() -> None:
    """All its flows weigh the same, on any wiring and with collectives."""
    rows = [
        TaskRows(COMPUTE, 4, 1e-3, server=np.arange(4)),
        TaskRows(TRANSFER, 1, src=0, dst=2, size_bytes=10**7),
        TaskRows(COLLECTIVE, 1, size_bytes=10**7, collective=0, members=((0, 1, 2, 3),)),
    ]
    graph = task_graph_from_edges(4, rows, np.array([0, 1, 2, 3, 0]), np.array([5, 5, 5, 5, 4]))
    fabric = build_fabric("topoopt", FabricRequest(4, 2, 100e9, groups=((0, 1, 2, 3),)))
    plain = simulate("flow", graph, fabric)
    weighted = simulate("flow", graph, fabric, SimulationOptions(aggressiveness=Aggressiveness()))
    np.testing.assert_allclose(weighted.finish_s, plain.finish_s, rtol=1e-9)


def test_circuits_that_change_know_no_weights() -> None:
    fabric = build_fabric("ocs-reconfig", FabricRequest(4, 2, 100e9))
    with pytest.raises(InvalidInput, match="sharing mltcp: is for links that stay"):
        simulate("flow", job(0.4), fabric, SimulationOptions(aggressiveness=Aggressiveness()))
