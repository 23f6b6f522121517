"""Windows in closed form: when bytes can exist, and what must follow them."""

import numpy as np
import pytest

from topoopt.catalog import ClusterSpec
from topoopt.search.bounds.transfer_windows import windows
from topoopt.simulation import COLLECTIVE, COLLECTIVES, COMPUTE, TRANSFER, TaskRows, task_graph_from_edges

BPS, SIZE, LATENCY_S = 100e9, 10**8, 1e-6
CLUSTER = ClusterSpec(8, 2, BPS, link_latency_s=LATENCY_S)
ALONE_S = SIZE * 8 / (2 * BPS) + LATENCY_S
"""A transfer by all interfaces of its server."""


def test_a_transfer_takes_its_place_between_what_it_waits_for_and_what_waits_for_it() -> None:
    compute = TaskRows(COMPUTE, 2, np.array([1.0, 2.0]), server=np.array([0, 1]))
    sent = TaskRows(TRANSFER, 1, 0.5, src=0, dst=1, size_bytes=SIZE)
    found = windows(task_graph_from_edges(8, [compute, sent], np.array([0, 2]), np.array([2, 1])), CLUSTER)
    assert found.release_s == pytest.approx([0, 1.5 + ALONE_S, 1.5])  # after its delay
    assert found.tail_s == pytest.approx([2.5 + ALONE_S, 0, 2])
    assert found.critical_path_s == pytest.approx(3.5 + ALONE_S)
    assert found.compute_s == 3


def test_a_server_hears_one_after_the_other_what_it_waits_for() -> None:
    """Three senders, of which the last is there after a second: its bytes alone, or all of them from the start."""
    compute = TaskRows(COMPUTE, 4, np.array([0.0, 0.0, 1.0, 1.0]), server=np.array([1, 2, 3, 0]))
    sent = TaskRows(TRANSFER, 3, src=np.array([1, 2, 3]), dst=0, size_bytes=np.array([9, 9, 1]) * SIZE)
    edges = np.array([0, 1, 2, 4, 5, 6]), np.array([4, 5, 6, 3, 3, 3])
    found = windows(task_graph_from_edges(8, [compute, sent], *edges), CLUSTER)
    whole_s = 19 * SIZE * 8 / (2 * BPS) + LATENCY_S
    assert found.release_s[3] == pytest.approx(max(1 + ALONE_S, whole_s))


def test_what_a_server_sends_to_several_takes_its_time_before_the_end() -> None:
    """The same the other way around: what must follow the task that feeds three others."""
    compute = TaskRows(COMPUTE, 4, np.array([1.0, 0.0, 0.0, 2.0]), server=np.array([0, 1, 2, 3]))
    sent = TaskRows(TRANSFER, 3, src=0, dst=np.array([1, 2, 3]), size_bytes=9 * SIZE)
    edges = np.array([0, 0, 0, 4, 5, 6]), np.array([4, 5, 6, 1, 2, 3])
    found = windows(task_graph_from_edges(8, [compute, sent], *edges), CLUSTER)
    one_s = 9 * SIZE * 8 / (2 * BPS)
    assert found.tail_s[0] == pytest.approx(max(3 * one_s, 2 + one_s) + LATENCY_S)


@pytest.mark.parametrize(
    ("kind", "bytes_of_member"),
    [("allreduce", 2 * 3 / 4), ("reduce-scatter", 3 / 4), ("all-gather", 3 / 4), ("all-to-all", 3 / 4)],
)
def test_a_collective_takes_what_its_members_send(kind: str, bytes_of_member: float) -> None:
    rows = TaskRows(
        COLLECTIVE, 1, size_bytes=SIZE, collective=COLLECTIVES.index(kind), members=((0, 2, 4, 6),)
    )
    nothing = np.zeros(0, np.int64)
    found = windows(task_graph_from_edges(8, [rows], nothing, nothing), CLUSTER)
    assert found.critical_path_s == pytest.approx(bytes_of_member * SIZE * 8 / (2 * BPS) + LATENCY_S)


def test_an_all_to_all_of_all_servers_takes_bytes_times_hops() -> None:
    """On a ring of 8 at one, one, two, two, three, three and four hops: 16 shares of a server, by two interfaces."""
    rows = TaskRows(
        COLLECTIVE, 1, size_bytes=SIZE, collective=COLLECTIVES.index("all-to-all"), members=(tuple(range(8)),)
    )
    nothing = np.zeros(0, np.int64)
    found = windows(task_graph_from_edges(8, [rows], nothing, nothing), CLUSTER)
    assert found.critical_path_s == pytest.approx(16 * SIZE / 8 * 8 / (2 * BPS) + LATENCY_S)
