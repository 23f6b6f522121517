"""Direct routes: a link of its own or none."""

import numpy as np
import pytest

from topoopt.base.errors import NoRoute
from topoopt.routing import DirectRoutes, Fabric, pair_links, path_table
from topoopt.topologies import circulant


def test_paths_links_and_tables_agree() -> None:
    topology = circulant(6, [1], 100e9)
    routes = DirectRoutes(topology)
    src, dst = np.array([0, 3, 2]), np.array([1, 3, 1])
    links = pair_links(topology, routes, src, dst)
    assert links.pair_first.tolist() == [0, 1, 1, 2]
    assert links.link.tolist() == [topology.link_id(0, 1), topology.link_id(2, 1)]
    table = path_table(Fabric("test", topology, routes, {}), src, dst)
    assert table.pair_first.tolist() == [0, 1, 1, 2]
    assert table.link.tolist() == links.link.tolist()
    assert [path.nodes for path in routes.paths(2, 1)] == [(2, 1)]


def test_a_pair_without_a_link_has_no_route() -> None:
    topology = circulant(6, [1], 100e9)
    routes = DirectRoutes(topology)
    with pytest.raises(NoRoute, match="no route 0->2"):
        routes.paths(0, 2)
    with pytest.raises(NoRoute, match="no route 0->2"):
        pair_links(topology, routes, np.array([1, 0]), np.array([2, 2]))
