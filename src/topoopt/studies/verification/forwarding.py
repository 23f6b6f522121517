"""Forwarding: what servers do hop by hop puts on every link what the routes say, and everything arrives."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import TopoOptError
from topoopt.routing.forwarding import Followed, ForwardingTables, follow, forwarding_tables
from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Subject

MOST_STEPS = 10_000_000
"""Links of all paths together up to which tables are made and followed: half a minute, and four gigabytes."""
_SAME = 1e-6


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
    """Yield where tables and routes differ; of pairs whose paths together go round, only what is more."""
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
    """Return pair and link of every step of the paths, each once and in order; and what share of the pair crosses."""
    routed = subject.routed
    of = routed.steps[0]
    keys, row = np.unique(routed.pair[of] * links + subject.step_links, return_inverse=True)
    return keys, np.asarray(np.bincount(row, routed.weight[of]), np.float64)


def _on(keys: Ints, some: Ints, shares: Floats) -> Floats:
    """Return the shares of some of the keys at all of them, 0 at the others."""
    found = np.zeros(len(keys))
    found[np.searchsorted(keys, some)] = shares
    return found
