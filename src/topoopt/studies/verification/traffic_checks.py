"""Checks of traffic: routes, forwarding hop by hop, bytes of every link, and schedules on real buffers."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import TopoOptError
from topoopt.base.units import format_bytes
from topoopt.collectives import (
    ALGORITHMS,
    ON_WIRINGS,
    RING,
    Transfers,
    play,
    transfers_of,
)
from topoopt.routing.forwarding import Followed, ForwardingTables, follow, forwarding_tables
from topoopt.search import task_graph_of
from topoopt.simulation import TRANSFER
from topoopt.studies.verification.subject import Check, Routed, Subject, checked, counted

MOST_STEPS = 10_000_000
"""Links of all paths together up to which tables are made and followed: half a minute, and four gigabytes."""
_SAME = 1e-6
_MOST_SHOWN = 8  # nodes of a path that a message repeats
MOST_CELLS = 50_000_000
"""Ranks times chunks that are played: about a second."""
_Case = tuple[str, tuple[int, ...]]


def check_schedules(subject: Subject) -> Check:
    """Return whether the schedules of the plan's collectives are correct."""
    if subject.plan is None:
        return Check("schedules", skipped="a wiring has no collectives; verify a plan on it")
    cases = sorted(
        {
            (row.algorithm, tuple(sorted(row.members)))
            for row in subject.simulated.algorithms
            if row.algorithm != RING
        }
    )
    if not cases:
        return Check("schedules", "all collectives are rings, which are looked at above")
    too_large = [case for case in cases if not _is_small(case)]
    note = f"{counted(len(too_large), 'schedule')} too large to be played" if too_large else ""
    played = [(case, _transfers(subject, case)) for case in cases if case not in too_large]
    looked_at = (
        f"{counted(len(played), 'schedule')} played, {counted(sum(len(t) for _, t in played), 'transfer')}"
    )
    return checked("schedules", looked_at, wrong_schedules(subject, played), note)


def wrong_schedules(subject: Subject, schedules: list[tuple[_Case, Transfers]]) -> Iterator[str]:
    """Yield the schedules after which a chunk is missing, or that send a missing chunk."""
    for (algorithm, members), transfers in schedules:
        name = f"{algorithm} among {len(members)} servers from {subject.server(members[0])}"
        try:
            missing = play(transfers).missing
        except AssertionError as error:
            yield f"{name}: {error}"
            continue
        if missing:
            yield f"{name}: {counted(missing, 'chunk')} missing or wrong at the end of the {transfers.collective}"
        if algorithm in ON_WIRINGS:
            yield from _off_links(subject, name, members, transfers)


def _off_links(subject: Subject, name: str, members: tuple[int, ...], transfers: Transfers) -> Iterator[str]:
    """Yield transfers of a schedule made for links between servers that none joins."""
    server = np.array(members, np.int64)
    ends = np.unique(np.stack((server[transfers.src], server[transfers.dst])), axis=1)
    missing = subject.topology.link_ids(ends[0], ends[1]) < 0
    for a, b in ends[:, missing].T.tolist():
        yield f"{name}: sends over a link {subject.pair(a, b)} that there is not"


def _is_small(case: _Case) -> bool:
    algorithm, members = case
    chunks = len(members) * (64 if algorithm in ON_WIRINGS else 1)
    return len(members) * chunks <= MOST_CELLS


def _transfers(subject: Subject, case: _Case) -> Transfers:
    algorithm, members = case
    if algorithm not in ON_WIRINGS:
        return transfers_of(ALGORITHMS[algorithm].schedules[0](len(members)))
    made: Transfers | None = ON_WIRINGS[algorithm](subject.topology, members)
    assert made is not None, "the group's own links join it"
    return made


def check_routes(subject: Subject) -> Check:
    """Return whether every path of every pair leads there, without going round."""
    if subject.no_routes:
        return Check("routes", skipped=subject.no_routes)
    routed = subject.routed
    looked_at = f"{counted(len(routed.listed.weight), 'path')} of {counted(len(routed.src) + len(routed.lost), 'pair')}"
    return checked("routes", looked_at, _wrong_routes(subject, routed))


def check_weights(subject: Subject) -> Check:
    """Return whether the weights of the paths of every pair are positive and sum to 1."""
    if subject.no_routes:
        return Check("weights", skipped=subject.no_routes)
    routed = subject.routed
    return checked("weights", counted(len(routed.src), "pair"), _wrong_weights(subject, routed))


def _wrong_routes(subject: Subject, routed: Routed) -> Iterator[str]:
    paths = routed.listed
    for a, b in routed.lost:
        yield f"pair {subject.pair(a, b)}: no route; give it one"
    empty = np.flatnonzero(np.diff(paths.path_first) == 0)
    for row in empty.tolist():
        yield f"pair {subject.pair(int(routed.src[row]), int(routed.dst[row]))}: no route; give it one"
    if not len(paths.weight):
        return
    pair = routed.pair
    starts, ends = paths.nodes[paths.node_first[:-1]], paths.nodes[paths.node_first[1:] - 1]
    for path in np.flatnonzero((starts != routed.src[pair]) | (ends != routed.dst[pair])).tolist():
        yield (
            f"pair {_pair(subject, routed, path, pair)}: path {_shown(routed, path)} goes from {int(starts[path])} to "
            f"{int(ends[path])}"
        )
    of, src, dst = routed.steps
    for step in np.flatnonzero(subject.step_links < 0).tolist():
        yield (
            f"pair {_pair(subject, routed, int(of[step]), pair)}: path {_shown(routed, int(of[step]))}: there is no "
            f"link {subject.pair(int(src[step]), int(dst[step]))}"
        )
    for path in _with_a_node_twice(routed):
        yield f"pair {_pair(subject, routed, path, pair)}: path {_shown(routed, path)} goes round: a server twice"


def _with_a_node_twice(routed: Routed) -> list[int]:
    paths = routed.listed
    size = np.diff(paths.node_first)
    found: list[int] = []
    for length in np.unique(size).tolist():
        rows = np.flatnonzero(size == length)
        nodes = np.sort(paths.nodes[paths.node_first[rows][:, None] + np.arange(length)], axis=1)
        found += rows[(nodes[:, 1:] == nodes[:, :-1]).any(axis=1)].tolist()
    return sorted(found)


def _wrong_weights(subject: Subject, routed: Routed) -> Iterator[str]:
    pair, weight = routed.pair, routed.listed.weight
    for path in np.flatnonzero(~((weight > 0) & (weight <= 1 + _SAME))).tolist():
        yield f"pair {_pair(subject, routed, path, pair)}: a path of weight {weight[path]:g}; weights are above 0 to 1"
    total = np.bincount(pair, weight, minlength=len(routed.src))
    for row in np.flatnonzero(~(np.abs(total - 1) <= _SAME)).tolist():
        yield (
            f"pair {subject.pair(int(routed.src[row]), int(routed.dst[row]))}: the weights of its paths sum to "
            f"{total[row]:g}, not 1"
        )


def _pair(subject: Subject, routed: Routed, path: int, pair: Ints) -> str:
    return subject.pair(int(routed.src[pair[path]]), int(routed.dst[pair[path]]))


def _shown(routed: Routed, path: int) -> str:
    first, last = routed.listed.node_first[path : path + 2]
    nodes = routed.listed.nodes[first:last].tolist()
    return "-".join(map(str, nodes[:_MOST_SHOWN])) + ("-…" if len(nodes) > _MOST_SHOWN else "")


def check_forwarding(subject: Subject) -> Check:
    """Return whether the forwarding tables of the plan lead every pair along its routes."""
    if subject.no_routes:
        return Check("forwarding", skipped=subject.no_routes)
    if subject.on_switches:
        return Check("forwarding", skipped="servers hang on switches, which forward themselves")
    routed = subject.routed
    steps = len(routed.steps[0])
    if steps > MOST_STEPS:
        what = f"paths of {steps:,} steps in all"
        return Check("forwarding", skipped=f"{what}; up to {MOST_STEPS:,} are followed through tables")
    if routed.drawn:
        return Check("forwarding", skipped=routed.drawn)
    try:
        tables = forwarding_tables(subject.topology, routed, pairs=(routed.src, routed.dst))
    except TopoOptError as error:
        return Check("forwarding", "tables", (str(error),), 1)
    return checked_tables(subject, tables)


def checked_tables(subject: Subject, tables: ForwardingTables) -> Check:
    """Return whether these tables lead every pair along its routes."""
    looked_at = (
        f"{counted(len(tables), 'entry', 'entries')}, {counted(len(tables.ways), 'pair')} followed hop by hop"
    )
    return checked("forwarding", looked_at, _wrong_tables(subject, tables), f"by {tables.kind}")


def _wrong_tables(subject: Subject, tables: ForwardingTables) -> Iterator[str]:
    ways, followed = tables.ways, follow(tables)

    def pair(way: int) -> str:
        return subject.pair(int(ways.src[way]), int(ways.dst[way]))

    for way in followed.lost.tolist():
        yield f"pair {pair(way)}: a part comes to a server that has no entry for it"
    for way in followed.circling.tolist():
        yield f"pair {pair(way)}: a part goes round and never arrives"
    for way in np.flatnonzero(np.abs(followed.arrived - 1) > _SAME).tolist():
        yield f"pair {pair(way)}: {followed.arrived[way]:.4g} of its bytes arrive"
    for way, link, has, due in _other_links(subject, tables, followed):
        topology = subject.topology
        name = subject.pair(int(topology.src[link]), int(topology.dst[link]))
        yield f"pair {pair(way)}: the tables send {has:.4g} of it over link {name}, its routes {due:.4g}"


def _other_links(
    subject: Subject, tables: ForwardingTables, followed: Followed
) -> Iterator[tuple[int, int, float, float]]:
    """Yield differences between tables and routes; for pairs whose joint paths have cycles, only excess shares."""
    links = len(subject.topology)
    way = np.repeat(np.arange(len(followed.links)), np.diff(followed.links.pair_first))
    here, has = way * links + followed.links.link, followed.links.share
    there, due = _due(subject, links)
    keys = here
    if len(here) != len(there) or (here != there).any():
        keys = np.union1d(here, there)
        has, due = _on(keys, here, has), _on(keys, there, due)
    differs = np.abs(has - due) > _SAME
    if tables.freed_pairs and len(np.unique(keys[differs] // links)) <= tables.freed_pairs:
        differs = has - due > _SAME
    for place in np.flatnonzero(differs).tolist():
        row, link = divmod(int(keys[place]), links)
        yield row, link, float(has[place]), float(due[place])


def _due(subject: Subject, links: int) -> tuple[Ints, Floats]:
    """Return pair and link of every step of the paths, each once and in order, and the share of the pair there."""
    routed = subject.routed
    of = routed.steps[0]
    keys, row = np.unique(routed.pair[of] * links + subject.step_links, return_inverse=True)
    return keys, np.asarray(np.bincount(row, routed.weight[of]), np.float64)


def _on(keys: Ints, some: Ints, shares: Floats) -> Floats:
    """Return the shares at all keys, 0 at keys without one."""
    found = np.zeros(len(keys))
    found[np.searchsorted(keys, some)] = shares
    return found


def check_link_bytes(subject: Subject) -> Check:
    """Return whether the bytes of every link follow from traffic, routes and rings."""
    if subject.no_routes:
        return Check("bytes", skipped=subject.no_routes)
    if subject.on_switches:
        return Check("bytes", skipped="servers hang on switches, and transfers are spread over them")
    if subject.routed.drawn:
        return Check("bytes", skipped=subject.routed.drawn)
    own = summed_link_bytes(subject)
    looked_at = f"{counted(len(own), 'link')}, {format_bytes(float(own.sum()))} in all"
    return checked("bytes", looked_at, _wrong_bytes(subject, own))


def summed_link_bytes(subject: Subject) -> Floats:
    """Return the bytes on each link, shape (links,): of transfers along paths, of AllReduces along rings."""
    demand, rings = _demands(subject)
    routed, topology = subject.routed, subject.topology
    of, link = routed.steps[0], subject.step_links
    moved = demand[routed.src, routed.dst][routed.pair] * routed.weight
    on_links = np.zeros(len(topology))
    np.add.at(on_links, link, moved[of])
    assert subject.plan is not None
    for members, size_bytes in rings.items():
        of_group = subject.plan.fabric.rings.get(members, ())
        for ring in of_group:
            along = topology.link_ids(*ring.edges())
            share = 2 * (len(members) - 1) / len(members) * size_bytes / len(of_group)
            np.add.at(on_links, along[along >= 0], share)
    return on_links


def _demands(subject: Subject) -> tuple[Floats, dict[tuple[int, ...], float]]:
    """Return bytes of every pair, those of schedules among them, and bytes of every group that goes around rings."""
    plan, result = subject.plan, subject.simulated
    assert plan is not None
    traffic = plan.traffic()
    demand = traffic.mp_matrix()
    rings: dict[tuple[int, ...], float] = defaultdict(float)
    for group in traffic.allreduce:
        rings[group.members] += group.size_bytes
    played = [row for row in result.algorithms if row.algorithm != RING]
    if played:
        graph = result.graph
        task = np.arange(
            len(task_graph_of(plan.job, plan.strategy)), len(graph)
        )  # schedules come behind all tasks
        task = task[graph.kind[task] == TRANSFER]
        np.add.at(demand, (graph.src[task], graph.dst[task]), graph.size_bytes[task])
        np.fill_diagonal(demand, 0.0)
        for row in played:
            rings[tuple(sorted(row.members))] -= row.count * row.size_bytes
    return demand, dict(rings)


def _wrong_bytes(subject: Subject, own: Floats) -> Iterator[str]:
    topology, found, stated = subject.topology, subject.simulated.link_bytes, subject.stated
    near = _SAME * max(float(own.max(initial=0.0)), 1.0)
    for link in np.flatnonzero(~(np.abs(own - found) <= near)).tolist():
        name = subject.pair(int(topology.src[link]), int(topology.dst[link]))
        yield f"link {name}: {own[link]:,.0f} bytes by traffic and routes, {found[link]:,.0f} simulated"
    most = float(own.max(initial=0.0))
    if abs(most - stated.link_bytes_max) > near:
        yield f"link_bytes_max: the plan says {stated.link_bytes_max:,.0f}, traffic and routes {most:,.0f}"
