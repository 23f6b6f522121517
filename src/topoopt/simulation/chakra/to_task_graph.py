"""From Chakra's traces to a task graph: sends meet their receives, and the nodes of a collective each other.

A COMP node computes on its rank, one on the CPU on a device of its own. A transfer begins when its COMM_SEND may; a
COMM_RECV that waits for something itself is done when both are. A collective begins when the nodes of all members may.
A METADATA node takes no time. Tasks come in the order of the nodes' numbers, then of ranks.
"""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.simulation.chakra.collectives import collectives, refuse_circle
from topoopt.simulation.chakra.schema import (
    ACCELERATOR,
    COLL,
    COMP,
    EXACT_DURATION,
    INVALID,
    MEM_LOAD,
    METADATA,
    NODE_TYPES,
    RECV,
    SEND,
)
from topoopt.simulation.chakra.tasks import ON_CPU, DraftTask, Place, places, seconds, whole
from topoopt.simulation.chakra.trace import ChakraNode, ChakraTrace, ChakraTraces
from topoopt.simulation.task_graph import (
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
"""Of a server; more are taken for damage."""


def chakra_task_graph(traces: ChakraTraces) -> TaskGraph:
    """Return the tasks of all ranks, rank r on server r.

    Raises
    ------
    InvalidInput
        With file and node: a dependency on a node that is not there, or in a circle; a send without its receive; an
        unknown kind of node or collective; what is needed and not said.
    """
    for trace in traces.ranks:
        _check(trace)
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


def _alone(trace: ChakraTrace, rank: int, node: ChakraNode) -> DraftTask | None:
    """Return the task of a node that meets no other, else None."""
    if node.type in (SEND, RECV, COLL):
        return None
    said_s = node.duration_micros / _MICROS
    task = DraftTask(trace, node, rank, COMPUTE, [(rank, node.id)], places(rank, node))
    if node.type == COMP:
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
    if node.type not in (INVALID, METADATA):
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
