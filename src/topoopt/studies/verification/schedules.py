"""Schedules: every collective that is no ring is played on real buffers, and everyone ends with what they should."""

from collections.abc import Iterator

import numpy as np

from topoopt.collectives import (
    ALGORITHMS,
    ON_WIRINGS,
    RING,
    Transfers,
    broadcast_schedule,
    one_after_the_other,
    play,
    transfers_of,
)
from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Subject
from topoopt.topologies import Topology, broadcast_steps, reversed_links, topology_from_arrays

MOST_CELLS = 50_000_000
"""Ranks times chunks that are played: about a second."""

_Case = tuple[str, tuple[int, ...]]


def check_schedules(subject: Subject) -> Check:
    """Return whether the schedules of the plan's collectives do what they are for."""
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
    too_large = [case for case in cases if not _is_small(subject, case)]
    note = f"{counted(len(too_large), 'schedule')} too large to be played" if too_large else ""
    played = [(case, _transfers(subject, case)) for case in cases if case not in too_large]
    looked_at = (
        f"{counted(len(played), 'schedule')} played, {counted(sum(len(t) for _, t in played), 'transfer')}"
    )
    return checked("schedules", looked_at, wrong_schedules(subject, played), note)


def wrong_schedules(subject: Subject, schedules: list[tuple[_Case, Transfers]]) -> Iterator[str]:
    """Yield the schedules after which something is missing, or that send what is not there."""
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


def _is_small(subject: Subject, case: _Case) -> bool:
    algorithm, members = case
    chunks = len(members) * (64 if algorithm in ON_WIRINGS else 1)
    return len(members) * chunks <= MOST_CELLS


def _transfers(subject: Subject, case: _Case) -> Transfers:
    algorithm, members = case
    if algorithm not in ON_WIRINGS:
        return transfers_of(ALGORITHMS[algorithm].schedules[0](len(members)))
    inside = _among(subject.topology, members)
    back = reversed_links(inside)
    ports = int(max(np.bincount(ends, inside.ports).max() for ends in (inside.src, inside.dst)))
    chunks = max(broadcast_steps(wiring, ports).chunks for wiring in (inside, back))
    return one_after_the_other(
        broadcast_schedule(back, chunks).backwards(), broadcast_schedule(inside, chunks)
    )


def _among(topology: Topology, members: tuple[int, ...]) -> Topology:
    """Return the links with both ends in a group, whose members are numbered from 0."""
    place = np.full(topology.nodes, -1)
    place[list(members)] = np.arange(len(members))
    own = (place[topology.src] >= 0) & (place[topology.dst] >= 0)
    ports = topology.ports[own]
    return topology_from_arrays(
        topology.family,
        len(members),
        np.repeat(place[topology.src[own]], ports),
        np.repeat(place[topology.dst[own]], ports),
        np.repeat(topology.bandwidth_bps[own] / ports, ports),
        np.repeat(topology.latency_s[own], ports),
    )
