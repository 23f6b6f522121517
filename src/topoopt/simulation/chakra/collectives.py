"""Collectives of Chakra's traces: the nodes of all members of a group meet, in order of their numbers."""

from collections import defaultdict
from collections.abc import Iterator

from topoopt.base.errors import InvalidInput
from topoopt.simulation.chakra.schema import COLL, COLLECTIVE_TYPES, EXACT_DURATION, EXACT_SIZE, OURS
from topoopt.simulation.chakra.tasks import DraftTask, places, seconds, whole
from topoopt.simulation.chakra.trace import ChakraNode, ChakraTrace, ChakraTraces
from topoopt.simulation.task_graph import COLLECTIVE, COLLECTIVES, TRANSFER


def collectives(traces: ChakraTraces) -> Iterator[DraftTask]:
    """Yield the collectives of all traces.

    A node without ``pg_name`` is for all ranks. Members of a group that no file names are the ranks that have nodes for
    it. The buffer of an all-gather is ``comm_size`` of every member, which is how ASTRA-sim takes it.

    Raises
    ------
    InvalidInput
        If a kind is unknown, a rank is not in its group, or members of a group have not the same collectives.
    """
    nodes: dict[str, dict[int, list[ChakraNode]]] = defaultdict(dict)
    for rank, trace in enumerate(traces.ranks):
        for node in sorted((one for one in trace.nodes if one.type == COLL), key=lambda one: one.id):
            nodes[_group(trace, node)].setdefault(rank, []).append(node)
    for name, of_rank in nodes.items():
        members = _members(traces, name, of_rank)
        first = members[0]
        for member in members:
            ours, others = of_rank.get(first, []), of_rank.get(member, [])
            if len(ours) != len(others):
                more, less = (first, member) if len(ours) > len(others) else (member, first)
                node = of_rank[more][min(len(ours), len(others))]
                raise traces.ranks[more].refusal(
                    node, f"{traces.ranks[less].place} has no such collective of {_said(name)}"
                )
        for turn in range(len(of_rank[first])):
            yield _collective(traces, members, [of_rank[member][turn] for member in members])


def _group(trace: ChakraTrace, node: ChakraNode) -> str:
    name = str(node.attributes.get("pg_name", ""))
    dims = node.attributes.get("involved_dim")
    if not name and isinstance(dims, tuple) and not all(dims):
        raise trace.refusal(node, "involved_dim names a part of the dimensions of a network; give pg_name")
    return name


def _members(traces: ChakraTraces, name: str, of_rank: dict[int, list[ChakraNode]]) -> tuple[int, ...]:
    if not name:
        return tuple(range(len(traces.ranks)))
    members = traces.groups.get(name, tuple(sorted(of_rank)))
    for rank in sorted(set(of_rank) - set(members)):
        reason = f"pg_name {name}: rank {rank} is not in that group {repr(members)[:60]}"
        raise traces.ranks[rank].refusal(of_rank[rank][0], reason)
    return members


def _said(name: str) -> str:
    return f"process group {name}" if name else "all ranks"


def _collective(traces: ChakraTraces, members: tuple[int, ...], nodes: list[ChakraNode]) -> DraftTask:
    first, trace = nodes[0], traces.ranks[members[0]]
    kind, size = _kind(trace, first), whole(trace, first, "comm_size")
    for member, node in zip(members, nodes, strict=True):
        other = traces.ranks[member]
        found = _kind(other, node), whole(other, node, "comm_size")
        if found != (kind, size):
            there = f"{trace.place} node {first.id} is {kind} of {size} bytes"
            raise other.refusal(
                node, f"{found[0]} of {found[1]} bytes, where {there}; all members do the same"
            )
    if kind == "all-gather":
        size = whole(trace, first, EXACT_SIZE, size * len(members))
    pairs = list(zip(members, nodes, strict=True))
    draft = DraftTask(
        trace,
        first,
        members[0],
        COLLECTIVE,
        [(member, node.id) for member, node in pairs],
        [place for member, node in pairs for place in places(member, node)],
        seconds(trace, first, EXACT_DURATION, 0.0),
        size_bytes=size,
        collective=COLLECTIVES.index(kind),
        members=members,
    )
    if len(members) == 1:  # nothing is sent
        draft.kind, draft.src, draft.dst, draft.size_bytes = TRANSFER, members[0], members[0], 0
        draft.collective, draft.members = -1, ()
    return draft


def _kind(trace: ChakraTrace, node: ChakraNode) -> str:
    number = whole(trace, node, "comm_type")
    theirs = COLLECTIVE_TYPES[number] if number < len(COLLECTIVE_TYPES) else str(number)
    if theirs not in OURS:
        raise trace.refusal(node, f"comm_type {theirs} is not simulated; expected {', '.join(OURS)}")
    return OURS[theirs]


def refuse_circle(tasks: list[DraftTask], before: list[int], after: list[int]) -> None:
    """Refuse tasks that wait for each other in a circle.

    Raises
    ------
    InvalidInput
        With file and number of each node of the circle.
    """
    waiting, followers = [0] * len(tasks), defaultdict(list)
    for source, target in zip(before, after, strict=True):
        waiting[target] += 1
        followers[source].append(target)
    ready = [task for task, count in enumerate(waiting) if not count]
    while ready:
        for target in followers[ready.pop()]:
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    stuck = {task for task, count in enumerate(waiting) if count}
    if not stuck:
        return
    earlier = {
        target: source for source, target in zip(before, after, strict=True) if {source, target} <= stuck
    }
    seen: dict[int, int] = {}
    here = min(stuck)
    while here not in seen:  # everyone who is stuck waits for somebody who is
        seen[here] = len(seen)
        here = earlier[here]
    circle = [task for task, turn in seen.items() if turn >= seen[here]]
    first, *others = ((tasks[task].trace.place, tasks[task].node.id) for task in circle)
    way = ", ".join(f"{place} node {number}" for place, number in others[:4]) or "itself"
    more = f" and {len(others) - 4} more" if len(others) > 4 else ""
    raise InvalidInput(f"{first[0]}: node {first[1]}: waits in a circle for {way}{more}")
