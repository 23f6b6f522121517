"""Rings: each meets every member of its group once and is closed over links; every group that reduces has some."""

from collections import Counter
from collections.abc import Iterator, Sequence

from topoopt.studies.verification.check import Check, checked, counted
from topoopt.studies.verification.subject import Subject
from topoopt.topologies import Ring, Topology


def check_rings(subject: Subject) -> Check:
    """Return whether all rings are rings."""
    rings = _rings(subject)
    count = sum(map(len, rings.values()))
    if subject.plan is None and not count:
        return Check("rings", skipped="no ring of all servers over direct links was found")
    looked_at = f"{counted(count, 'ring')} of {counted(len(rings), 'group')}"
    return checked(
        "rings", looked_at, _wrong_rings(subject, rings), "found here" if subject.rings_found else ""
    )


def _rings(subject: Subject) -> dict[tuple[int, ...], Sequence[Ring]]:
    if subject.plan is not None:
        return dict(subject.plan.fabric.rings)
    assert subject.wiring is not None
    everyone = tuple(range(subject.topology.servers))
    return {everyone: subject.wiring.split_rings()} if subject.wiring.rings else {}


def _wrong_rings(subject: Subject, rings: dict[tuple[int, ...], Sequence[Ring]]) -> Iterator[str]:
    for members, of_group in rings.items():
        for number, ring in enumerate(of_group):
            place = f"ring {number} of {_group(subject, members)}"
            for reason in _wrong_ring(subject, members, ring):
                yield f"{place}: {reason}"
    if subject.plan is not None:
        for group in subject.plan.traffic().allreduce:
            if not rings.get(group.members):
                yield f"{_group(subject, group.members)}: reduces {group.size_bytes:,} bytes and has no ring"


def _wrong_ring(subject: Subject, members: tuple[int, ...], ring: Ring) -> Iterator[str]:
    met = Counter(ring.members)
    for server in sorted(set(members) - set(met)):
        yield f"does not meet {subject.server(server)}"
    for server in sorted(set(met) - set(members)):
        yield f"meets {subject.server(server)}, which is not in the group"
    for server in sorted(server for server, count in met.items() if count > 1):
        yield f"meets {subject.server(server)} {met[server]} times"
    if not _in_order(ring.walk, ring.members):
        yield "its walk does not meet the members in their order"
    for a, b in zip(ring.walk, (*ring.walk[1:], ring.walk[0]), strict=True):
        if a != b and not _has_link(subject.topology, a, b):
            yield f"there is no link {subject.pair(a, b)}"


def _has_link(topology: Topology, a: int, b: int) -> bool:
    return min(a, b) >= 0 and max(a, b) < topology.nodes and topology.link_id(a, b) >= 0


def _in_order(walk: Sequence[int], members: Sequence[int]) -> bool:
    """Return whether the members come in this order on a walk, which may cross others in between."""
    if tuple(walk) == tuple(members):
        return True
    rest = iter(walk)
    return all(member in rest for member in members)


def _group(subject: Subject, members: tuple[int, ...]) -> str:
    if len(members) == subject.topology.servers:
        return "all servers"
    return f"the {len(members)} servers {', '.join(map(str, members[:3]))}{' …' if len(members) > 3 else ''}"
