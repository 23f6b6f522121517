"""Which way the bytes of one job take through a shared fabric: one path a connection, for as long as it runs."""

import zlib

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.finder import lay_rings
from topoopt.routing import (
    ExplicitRoutes,
    Fabric,
    Path,
    chosen_paths,
    connection_uniform,
    cumulative_weights,
    path_table,
)
from topoopt.simulation import COLLECTIVE, COLLECTIVES, TRANSFER, TaskGraph
from topoopt.topologies import Ring


def connect(
    fabric: Fabric, job: str, graph: TaskGraph, rings: int, seed: int, spread: bool = False
) -> Fabric:
    """Return the fabric as a job sees it that has opened its connections.

    Every pair of servers with transfers between them has one connection, whose path is drawn by weight, as
    switches hash it. Every ring edge of a group is one connection too. Both stay as they are from iteration to
    iteration; another job on the same servers draws anew.

    Parameters
    ----------
    graph : TaskGraph
        An iteration of the job, on servers of the fabric.
    rings : int
        Most rings of a group; 0 for as many as a server has links.
    spread : bool
        Whether pairs have so many connections that their bytes are on all paths by weight, as the fabric routes them.

    Raises
    ------
    NoRoute
        If a pair cannot be reached.
    """
    own_seed = np.random.SeedSequence([seed, zlib.crc32(job.encode())]).generate_state(1).tolist()[0]
    topology = fabric.topology
    most = rings or int(topology.ports[topology.src == 0].sum())
    laid = {group: fabric.rings.get(group) or _rings(fabric, group, most, own_seed) for group in graph.groups}
    if spread:
        return Fabric(fabric.name, topology, fabric.routes, laid)
    table = {(path.nodes[0], path.nodes[-1]): (path,) for path in _drawn_paths(fabric, graph, own_seed)}
    return Fabric(fabric.name, topology, ExplicitRoutes(topology, table), laid)


def _rings(fabric: Fabric, group: tuple[int, ...], most: int, seed: int) -> tuple[Ring, ...]:
    """Return what ``lay_rings`` does; sooner where servers have one link and all shortest paths are as good."""
    topology, members = fabric.topology, np.asarray(group, np.int64)
    several_links = topology.nodes == topology.servers or np.diff(topology.first_link)[members].max() > 1
    if several_links or fabric.routes.method != "ecmp":
        return lay_rings(topology, fabric.routes, group, most, seed)
    table = path_table(fabric, members, np.roll(members, -1))
    path = table.pair_first[:-1] + (connection_uniform(seed, members) * np.diff(table.pair_first)).astype(
        np.int64
    )
    steps = [table.link[table.path_first[one] : table.path_first[one + 1]] for one in path.tolist()]
    return (Ring(1, tuple(topology.src[np.concatenate(steps)].tolist()), group),)


def _drawn_paths(fabric: Fabric, graph: TaskGraph, seed: int) -> list[Path]:
    src, dst = _pairs(graph, fabric.topology.servers)
    if not len(src):
        return []
    topology, table = fabric.topology, path_table(fabric, src, dst)
    weights = cumulative_weights(table.pair_first, table.weight)
    number = src * topology.nodes + dst
    chosen = chosen_paths(table.pair_first, weights, np.arange(len(src)), number, seed)
    steps = [table.link[table.path_first[path] : table.path_first[path + 1]] for path in chosen.tolist()]
    return [Path((*topology.src[links].tolist(), int(topology.dst[links[-1]]))) for links in steps]


def _pairs(graph: TaskGraph, servers: int) -> tuple[Ints, Ints]:
    """Return the ordered pairs of servers that send each other something outside of rings."""
    sends = (graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0)
    keys = [graph.src[sends].astype(np.int64) * servers + graph.dst[sends]]
    for members in all_to_all_groups(graph):
        one = np.asarray(members, np.int64)
        src, dst = np.repeat(one, len(one)), np.tile(one, len(one))
        keys.append((src * servers + dst)[src != dst])
    src, dst = np.divmod(np.unique(np.concatenate(keys)), servers)
    return src, dst


def all_to_all_groups(graph: TaskGraph) -> set[tuple[int, ...]]:
    """Return the members of each all-to-all, every group once."""
    tasks = np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective == COLLECTIVES.index("all-to-all")))
    return {graph.members(task) for task in tasks.tolist()}
