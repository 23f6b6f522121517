"""Without rounds only bytes count: closed forms of one message and of one ring."""

import numpy as np
import pytest

from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    TRANSFER,
    SimulationOptions,
    TaskRows,
    make_flows,
    simulate,
    task_graph_from_edges,
    time_without_rounds_s,
)
from topoopt.topologies import circulant

BPS, SIZE = 100e9, 10**6
NOTHING = np.zeros(0, np.int64)


def without_and_with(rows: TaskRows) -> tuple[float, float]:
    """Return the seconds without and with rounds on a ring of 8 servers."""
    topology = circulant(8, [1], BPS)
    fabric = Fabric("ring", topology, make_routes("single-shortest", topology), {})
    graph = task_graph_from_edges(8, [rows], NOTHING, NOTHING)
    plain_s = time_without_rounds_s(graph, fabric, make_flows(graph, fabric, SimulationOptions()))
    return plain_s, simulate("analytic", graph, fabric).iteration_time_s


def test_a_message_takes_its_bytes_however_far_it_goes() -> None:
    plain_s, whole_s = without_and_with(TaskRows(TRANSFER, 1, 0.25, src=0, dst=3, size_bytes=SIZE))
    assert plain_s == pytest.approx(0.25 + SIZE * 8 / BPS, rel=1e-12)
    assert whole_s > plain_s + 6e-6  # two latencies of each of three links


def test_a_ring_takes_what_crosses_its_links() -> None:
    ring = TaskRows(
        COLLECTIVE, 1, size_bytes=SIZE, collective=COLLECTIVES.index("allreduce"), members=(tuple(range(8)),)
    )
    plain_s, whole_s = without_and_with(ring)
    assert plain_s == pytest.approx(2 * 7 / 8 * SIZE * 8 / BPS, rel=1e-12)
    assert whole_s > plain_s + 14 * 2e-6
