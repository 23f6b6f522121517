"""Task graph from Chakra traces: sends are matched with receives, and the nodes of a collective with each other.

A COMP node computes on its rank, one on the CPU on a device of its own. A transfer begins when its COMM_SEND may; a
COMM_RECV that waits for something itself is done when both are. A collective begins when the nodes of all members may.
A METADATA node takes no time. A COMP node that is the delay of communication is no task of its own, since the
communication says the delay, too. Tasks come in the order of the nodes' numbers, then of ranks.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.simulation.chakra.trace import (
    ACCELERATOR,
    COLL,
    COLLECTIVE_TYPES,
    COMP,
    DELAY_OF,
    EXACT_DURATION,
    EXACT_SIZE,
    INVALID,
    MEM_LOAD,
    METADATA,
    NODE_TYPES,
    ON_CPU,
    OURS,
    RECV,
    SEND,
    ChakraNode,
    ChakraTrace,
    ChakraTraces,
    DraftTask,
    Place,
    places,
    seconds,
    whole,
)
from topoopt.simulation.task_graph import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    MOST_TASKS,
    OTHER,
    PHASES,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)

_MICROS = 1e6
MOST_ACCELERATORS = 1024
"""Upper limit on the accelerators per server; a file with more counts as damaged."""


def chakra_task_graph(traces: ChakraTraces) -> TaskGraph:
    """Return the tasks of all ranks, rank r on server r.

    Raises
    ------
    InvalidInput
        With file and node: a dependency on a node that is not there, or in a circle; a send without its receive; an
        unknown kind of node or collective; a missing required value.
    """
    for trace in traces.ranks:
        _check(trace)
    traces = replace(traces, ranks=tuple(map(_without_delays, traces.ranks)))
    alone = (_alone(trace, rank, node) for rank, trace in enumerate(traces.ranks) for node in trace.nodes)
    tasks = list(chain((task for task in alone if task), _transfers(traces), collectives(traces)))
    if not tasks:
        raise InvalidInput(f"{traces.place}: the traces hold no nodes; write them again")
    if len(tasks) > MOST_TASKS:
        raise InvalidInput(f"{traces.place}: {len(tasks)} tasks, at most {MOST_TASKS} are simulated")
    tasks.sort(key=lambda task: (task.node.id, task.rank))
    number: dict[Place, int] = {place: task for task, row in enumerate(tasks) for place in row.nodes}
    edges = [(number[place], task) for task, row in enumerate(tasks) for place in row.waits_for]
    before, after = ([edge[side] for edge in edges] for side in (0, 1))
    rows, names = _rows(tasks)
    edges_of_graph = np.array(before, np.int64), np.array(after, np.int64)
    try:
        return task_graph_from_edges(len(traces.ranks), [rows], *edges_of_graph, names)
    except InvalidInput:
        refuse_circle(tasks, before, after)  # by files and nodes
        raise


def _check(trace: ChakraTrace) -> None:
    """Refuse numbers that are there twice, and dependencies on nodes that are not there."""
    known: set[int] = set()
    for node in trace.nodes:
        if node.id in known:
            raise trace.refusal(node, "its number is there twice; every node of a file has its own")
        known.add(node.id)
        if node.type >= len(NODE_TYPES):
            raise trace.refusal(node, f"type: expected 0..{len(NODE_TYPES) - 1}")
    for node in trace.nodes:
        for number in node.waits_for:
            if number not in known:
                raise trace.refusal(node, f"waits for node {number}, which the file does not hold")


def _without_delays(trace: ChakraTrace) -> ChakraTrace:
    """Return the trace without delays of communication, which then waits for their predecessors."""
    said = {node.id for node in trace.nodes if EXACT_DURATION in node.attributes}
    delays = {
        node.id: node.waits_for
        for node in trace.nodes
        if node.attributes.get(DELAY_OF) in said and node.attributes[DELAY_OF] != node.id
    }
    nodes = (
        replace(node, waits_for=tuple(chain(*(delays.get(one, (one,)) for one in node.waits_for))))
        for node in trace.nodes
        if node.id not in delays
    )
    return replace(trace, nodes=tuple(nodes)) if delays else trace


def _alone(trace: ChakraTrace, rank: int, node: ChakraNode) -> DraftTask | None:
    """Return the task of a node that needs no counterpart, else None."""
    if node.type in (SEND, RECV, COLL):
        return None
    said_s = node.duration_micros / _MICROS
    task = DraftTask(trace, node, rank, COMPUTE, [(rank, node.id)], places(rank, node))
    if node.type == COMP and node.attributes.get(DELAY_OF) != node.id:
        if (
            not node.duration_micros
            and EXACT_DURATION not in node.attributes
            and node.attributes.get("num_ops")
        ):
            raise trace.refusal(
                node, "has num_ops and no duration_micros; durations by a roofline are not computed"
            )
        task.server = rank
        task.duration_s = seconds(trace, node, EXACT_DURATION, said_s)
        task.accelerator = ON_CPU if node.attributes.get("is_cpu_op") else whole(trace, node, ACCELERATOR, 0)
        if task.accelerator >= MOST_ACCELERATORS:
            raise trace.refusal(node, f"{ACCELERATOR}: expected less than {MOST_ACCELERATORS}")
        return task
    task.kind, task.src, task.dst = TRANSFER, rank, rank
    task.duration_s = seconds(trace, node, EXACT_DURATION, 0.0)
    if node.type not in (INVALID, METADATA, COMP):
        if not node.duration_micros:
            kind = "loads" if node.type == MEM_LOAD else "stores"
            raise trace.refusal(
                node, f"{kind} memory and has no duration_micros; remote memory is not simulated"
            )
        task.duration_s = said_s
    return task


def _transfers(traces: ChakraTraces) -> Iterator[DraftTask]:
    """Yield the transfers: the first send of a pair and tag with its first receive, and so on."""
    sends, receives = _by_pair(traces, SEND), _by_pair(traces, RECV)
    for key in sends.keys() | receives.keys():
        src, dst, tag = key
        out, into = sends.get(key, []), receives.get(key, [])
        for rest, rank, verb, other in ((out, src, "sends", dst), (into, dst, "receives", src)):
            if len(rest) > min(len(out), len(into)):
                node, what = rest[min(len(out), len(into))], "receive" if verb == "sends" else "send"
                way = f"{verb} {'to' if verb == 'sends' else 'from'} rank {other} with comm_tag {tag}"
                place = traces.ranks[other].place
                raise traces.ranks[rank].refusal(node, f"{way}, for which {place} has no {what}")
        for send, receive in zip(out, into, strict=True):
            yield from _transfer(traces, src, dst, send, receive)


def _by_pair(traces: ChakraTraces, kind: int) -> dict[tuple[int, int, int], list[ChakraNode]]:
    found: dict[tuple[int, int, int], list[ChakraNode]] = {}
    for rank, trace in enumerate(traces.ranks):
        for node in sorted((one for one in trace.nodes if one.type == kind), key=lambda one: one.id):
            ends = {}
            for name, own in (("comm_src", kind == SEND), ("comm_dst", kind == RECV)):
                ends[name] = whole(trace, node, name, rank if own else None)
                if own and ends[name] != rank:
                    raise trace.refusal(node, f"{name} is {ends[name]}, in the trace of rank {rank}")
                if ends[name] >= len(traces.ranks):
                    reason = f"{name} {ends[name]} has no trace, there are {len(traces.ranks)} ranks"
                    raise trace.refusal(node, reason)
            src, dst = ends["comm_src"], ends["comm_dst"]
            if src == dst:
                raise trace.refusal(node, "its two ends are the same rank")
            found.setdefault((src, dst, whole(trace, node, "comm_tag", 0)), []).append(node)
    return found


def _transfer(
    traces: ChakraTraces, src: int, dst: int, send: ChakraNode, receive: ChakraNode
) -> Iterator[DraftTask]:
    trace, other = traces.ranks[src], traces.ranks[dst]
    size, taken = whole(trace, send, "comm_size"), whole(other, receive, "comm_size")
    if size != taken:
        raise other.refusal(receive, f"takes {taken} bytes, where {trace.place} node {send.id} sends {size}")
    task = DraftTask(
        trace,
        send,
        src,
        TRANSFER,
        [(src, send.id)],
        places(src, send),
        seconds(trace, send, EXACT_DURATION, 0.0),
        src=src,
        dst=dst,
        size_bytes=size,
    )
    if not receive.waits_for:
        task.nodes = [(src, send.id), (dst, receive.id)]
        yield task
        return
    yield task
    taken_in = [(src, send.id), *places(dst, receive)]
    yield DraftTask(other, receive, dst, TRANSFER, [(dst, receive.id)], taken_in, src=dst, dst=dst)


def _rows(tasks: list[DraftTask]) -> tuple[TaskRows, tuple[str, ...]]:
    """Return the columns of a task graph, and the names that tasks refer to."""
    cpu = 1 + max((task.accelerator for task in tasks), default=0)
    numbers: dict[str, int] = {}
    operator, phase = np.full(len(tasks), -1), np.full(len(tasks), OTHER)
    for row, task in enumerate(tasks):
        label, _, last = task.node.name.rpartition(" ")
        if last in PHASES:
            phase[row] = PHASES.index(last)
        else:
            label = task.node.name
        if label:
            operator[row] = numbers.setdefault(label, len(numbers))

    def column(name: str, dtype: type[np.generic] = np.int64) -> np.ndarray:
        return np.array([getattr(task, name) for task in tasks], dtype)

    accelerator = column("accelerator")
    rows = TaskRows(
        column("kind"),
        len(tasks),
        column("duration_s", np.float64),
        column("server"),
        column("src"),
        column("dst"),
        column("size_bytes"),
        column("collective"),
        tuple(task.members for task in tasks if task.members),
        operator,
        phase,
        accelerator=np.where(accelerator == ON_CPU, cpu, accelerator),
    )
    return rows, tuple(numbers)


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
