"""A served model and training on the same links, against what one can work out by hand."""

import numpy as np
import pytest

from tests.clusters.shared_jobs import NONE, dumbbell, sender
from topoopt.clusters import PlacedJob, shared_pace
from topoopt.routing import ExplicitRoutes, Fabric, Path
from topoopt.simulation import COLLECTIVE, COMPUTE, TRANSFER, TaskGraph, TaskRows, task_graph_from_edges
from topoopt.topologies import Link, Ring, topology_from_links

LINK_BPS = 80e9
BYTES_PER_S = LINK_BPS / 8


def service(load: float, sends: int = 10) -> TaskGraph:
    """A cycle of a second, in which server 0 sends so often to server 1, and so keeps a link busy for a part of it."""
    size = round(load * BYTES_PER_S / sends)
    rows = [
        TaskRows(COMPUTE, 1, 1.0, server=0),
        TaskRows(TRANSFER, sends, np.arange(sends) / sends, src=0, dst=1, size_bytes=size, operator=0),
    ]
    return task_graph_from_edges(2, rows, NONE, NONE, ("keys and values",))


@pytest.mark.parametrize("load", [0.5, 0.4, 0.2])
def test_training_takes_what_the_served_model_leaves_of_a_link(load: float) -> None:
    compute_s, send_s = 0.5, 20.0
    fabric = dumbbell(2, LINK_BPS, LINK_BPS)
    pace = shared_pace(fabric)
    chat, train = pace(
        [
            PlacedJob("chat", service(load), (0, 2), spread=True),
            PlacedJob("train", sender(round(send_s * BYTES_PER_S), compute_s), (1, 3)),
        ]
    )
    assert train.alone_s == pytest.approx(compute_s + send_s, rel=1e-3)
    # A link that is never idle serves all that comes of the one, and the rest is the other's.
    assert train.mean_s == pytest.approx(compute_s + send_s / (1 - load), rel=0.02)
    # Half of the link is each one's fair share, so that a send takes twice as long but while training computes.
    computing = compute_s / train.mean_s
    assert chat.sends_alone.requests.mean_s == pytest.approx(load / 10, rel=1e-3)
    assert chat.sends.requests.mean_s == pytest.approx(load / 10 * (2 - computing), rel=0.02)
    assert chat.mean_s == pytest.approx(1.0, rel=0.03)


def test_its_bytes_go_over_all_weighted_paths_and_those_of_training_over_one() -> None:
    links = [Link(a, b, LINK_BPS, 0.0) for a, b in ((0, 1), (1, 0), (0, 2), (2, 1), (1, 2), (2, 0))]
    topology = topology_from_links("three", 3, links)
    routes = ExplicitRoutes(topology, {(0, 1): (Path((0, 1), 0.6), Path((0, 2, 1), 0.4))})
    fabric = Fabric("three", topology, routes, {})
    graph = service(0.5)
    one, spread = (
        shared_pace(fabric)([PlacedJob("chat", graph, (0, 1), spread=spread)])[0] for spread in (False, True)
    )
    sent = spread.sends.requests.mean_s
    assert sent == pytest.approx(0.05 * 0.6, rel=1e-3)
    assert one.sends.steady.mean_s == pytest.approx(0.05, rel=1e-3)


def test_what_split_layers_exchange_goes_over_the_rings_of_the_plan() -> None:
    # A ring 0-2-1-3 is wired; along 0-1-2-3 every edge would take two hops, on links that two edges share.
    around = (0, 2, 1, 3)
    links = [Link(a, b, LINK_BPS, 0.0) for a, b in zip(around, (*around[1:], 0), strict=True)]
    topology = topology_from_links("ring", 4, links)
    paths = {
        (around[a], around[b]): (Path(tuple(around[(a + step) % 4] for step in range((b - a) % 4 + 1))),)
        for a in range(4)
        for b in range(4)
        if a != b
    }
    members = (0, 1, 2, 3)
    fabric = Fabric("ring", topology, ExplicitRoutes(topology, paths), {members: (Ring(1, around, around),)})
    size = 10**8
    rows = [
        TaskRows(COMPUTE, 1, 1.0, server=0),
        TaskRows(COLLECTIVE, 1, size_bytes=size, collective=0, members=(members,)),
    ]
    graph = task_graph_from_edges(4, rows, NONE, NONE)
    (found,) = shared_pace(fabric)([PlacedJob("chat", graph, members, spread=True)])
    assert found.sends.steady.mean_s == pytest.approx(2 * 3 / 4 * size / BYTES_PER_S, rel=1e-3)
