"""Chakra traces from a task graph: the bytes of one file per server, and the process groups.

The dependencies in the trace of each rank follow from the edges between tasks.

A task has a node in the trace of every rank that it concerns: its server, both ends of a transfer, the members of a
collective. An edge becomes a dependency wherever both of its tasks have a node; a transfer waits where it is sent.

A delay before communication, such as the reduction inside each server, is a COMP node of its own, for readers that know
no other time than that of nodes: on the CPU, since it takes no time of the accelerators' computation.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Ints, owners
from topoopt.base.errors import Infeasible
from topoopt.simulation.chakra.trace import (
    ACCELERATOR,
    ATTR,
    ATTR_NAME,
    BOOL,
    COLL,
    COLLECTIVE_WAY,
    COMP,
    DATA_DEPS,
    DELAY_OF,
    DOUBLE,
    DURATION,
    EIGHT,
    EXACT_DURATION,
    EXACT_SIZE,
    ID,
    INT64,
    META_ATTR,
    META_VERSION,
    METADATA,
    NAME,
    RECV,
    RUN,
    SEND,
    STRING,
    THEIRS,
    TYPE,
    UINT64,
    VARINT,
    VERSION,
    framed,
    number_field,
    run_field,
    tag,
    varint,
)
from topoopt.simulation.task_graph import COLLECTIVE, COLLECTIVES, COMPUTE, PHASES, TaskGraph, distinct


class _Members:
    def __init__(self, graph: TaskGraph) -> None:
        self.graph = graph
        self.keys = distinct(owners(graph.member_first) * graph.servers + graph.member)

    def has(self, task: Ints, rank: Ints) -> np.ndarray:
        """Return whether each of these tasks is a collective with this member."""
        key = task * self.graph.servers + rank
        place = np.searchsorted(self.keys, key)
        found = np.zeros(len(key), np.bool_)
        inside = place < len(self.keys)
        found[inside] = self.keys[place[inside]] == key[inside]
        return found & (rank >= 0)

    def of(self, tasks: Ints) -> tuple[Ints, Ints]:
        """Return the members of each of these collectives, and the place of the collective in the list."""
        first, count = self.graph.member_first[tasks], np.diff(self.graph.member_first)[tasks]
        which = np.repeat(np.arange(len(tasks)), count)
        inner = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
        return self.graph.member[first[which] + inner].astype(np.int64), which


@lru_cache(maxsize=1 << 16)
def whole_attribute(name: str, value: int, field: int = UINT64) -> bytes:
    """Return an attribute of a node that is a whole number; also 0, which proto3 would leave out elsewhere."""
    return run_field(ATTR, run_field(ATTR_NAME, name.encode()) + number_field(field, value))


ON_ACCELERATOR, ON_CPU = (whole_attribute("is_cpu_op", cpu, BOOL) for cpu in (0, 1))
"""Where a node runs: delays alone on the CPU."""
MOST_TRACED = 1_000_000
"""Tasks of a graph whose traces are written: about 200 bytes each."""
_MICROS = 1e6
_ID, _WAITS = tag(ID, VARINT), tag(DATA_DEPS, RUN)


class _Node(NamedTuple):
    """A node under construction: rank, fields after number and dependencies, and those of the delay before it."""

    rank: int
    type: int
    rest: bytes
    delay: bytes = b""


@dataclass(frozen=True, slots=True)
class ChakraFiles:
    """The traces of all ranks as bytes, rank r is server r, and the members of each process group in ring order."""

    ranks: tuple[bytes, ...]
    groups: dict[str, list[int]]


def chakra_files(graph: TaskGraph, collective: str = "stepped") -> ChakraFiles:
    """Return the traces of a task graph.

    A compute task is a COMP node, a transfer a COMM_SEND and a COMM_RECV, a collective a COMM_COLL node at each member.
    All nodes of a task have its number, in every trace, but that of a delay before communication, which is beyond those
    of all tasks. A barrier is a METADATA node. ``duration_micros`` is rounded so that the sum over a server's tasks is
    right to a microsecond; the exact seconds are an attribute, which other readers pass over.

    Parameters
    ----------
    collective
        Algorithm of collectives, recorded for :func:`topoopt.simulate`.

    Raises
    ------
    Infeasible
        If there are more tasks than :data:`MOST_TRACED`, or one waits for a task unknown to its server.
    """
    if len(graph) > MOST_TRACED:
        raise Infeasible(f"chakra: {len(graph)} tasks, traces are written of at most {MOST_TRACED}")
    head = run_field(META_VERSION, VERSION.encode())
    head += run_field(META_ATTR, text_attribute(COLLECTIVE_WAY, collective))
    traces = [[framed(head)] for _ in range(graph.servers)]
    names: dict[tuple[int, ...], str] = {}
    waits = _waits(graph)
    operators, phases = graph.operator.tolist(), graph.phase.tolist()
    for task, nodes in enumerate(_nodes(graph, names)):
        name = _name(graph, operators[task], phases[task])
        for node in nodes:
            number, waited = varint(task), waits.get((node.rank, task), b"")
            if node.delay:
                later = varint(len(graph) + task)
                traces[node.rank].append(framed(_ID + later + name + _type(COMP) + waited + node.delay))
                waited = _WAITS + varint(len(later)) + later
            traces[node.rank].append(framed(_ID + number + name + _type(node.type) + waited + node.rest))
    groups = {name: list(members) for members, name in names.items()}
    return ChakraFiles(tuple(b"".join(trace) for trace in traces), groups)


def _waits(graph: TaskGraph) -> dict[tuple[int, int], bytes]:
    """Return the dependency field of each node, by rank and task."""
    rank, task, before = dependencies(graph)
    numbers = [varint(number) for number in range(len(graph))]
    begins = np.flatnonzero(np.diff(rank, prepend=-1) | np.diff(task, prepend=-1))
    ends = np.append(begins, len(rank))[1:]
    wanted = before.tolist()
    found = {}
    for where, who, first, last in zip(
        rank[begins].tolist(), task[begins].tolist(), begins.tolist(), ends.tolist(), strict=True
    ):
        packed = b"".join([numbers[number] for number in wanted[first:last]])
        found[where, who] = _WAITS + varint(len(packed)) + packed
    return found


def _nodes(graph: TaskGraph, names: dict[tuple[int, ...], str]) -> Iterator[tuple[_Node, ...]]:
    """Yield the nodes of each task; process groups get their names as they come."""
    micros, tags = _rounded_micros(graph).tolist(), _tags(graph).tolist()
    names_of_columns = ("kind", "server", "duration_s", "src", "dst", "size_bytes", "accelerator")
    columns = [getattr(graph, name).tolist() for name in names_of_columns]
    for task, row in enumerate(zip(*columns, strict=True)):
        kind, server, duration_s, src, dst, size, accelerator = row
        exact = exact_attribute(EXACT_DURATION, duration_s) if duration_s else b""
        takes = number_field(DURATION, micros[task]) if micros[task] else b""
        delay = takes + ON_CPU + whole_attribute(DELAY_OF, task) if duration_s else b""
        if kind == COMPUTE:
            rest = takes + ON_ACCELERATOR + exact
            rest += whole_attribute(ACCELERATOR, accelerator) if accelerator else b""
            yield (_Node(server, COMP, rest),)
        elif kind == COLLECTIVE:
            yield _collective(graph, task, (exact, delay), names)
        elif src == dst:
            yield (_Node(src, COMP if delay else METADATA, delay + exact),)
        else:
            rest = ON_ACCELERATOR + whole_attribute("comm_size", size) + _ends(src, dst)
            rest += whole_attribute("comm_tag", tags[task])
            yield _Node(src, SEND, rest + exact, delay), _Node(dst, RECV, rest)


def _collective(
    graph: TaskGraph, task: int, seconds: tuple[bytes, bytes], names: dict[tuple[int, ...], str]
) -> tuple[_Node, ...]:
    """Return a node for each member; for a single one only the delay, or the pause beside other communication."""
    members, (exact, delay) = graph.members(task), seconds
    if len(members) == 1:
        before = delay and graph.collective[task] >= 0
        return (_Node(members[0], COMP, delay + exact) if before else _Node(members[0], METADATA, exact),)
    name = names.setdefault(members, str(len(names) + 1))
    kind, size = COLLECTIVES[graph.collective[task]], int(graph.size_bytes[task])
    shard = kind == "all-gather"
    said = size // len(members) if shard else size
    rest = ON_ACCELERATOR + collective_attribute(THEIRS[kind]) + whole_attribute("comm_size", said)
    rest += run_field(ATTR, text_attribute("pg_name", name)) + exact
    if shard and size % len(members):
        rest += whole_attribute(EXACT_SIZE, size)
    return tuple(_Node(member, COLL, rest, delay) for member in members)


@lru_cache(maxsize=1 << 16)
def _ends(src: int, dst: int) -> bytes:
    return whole_attribute("comm_src", src) + whole_attribute("comm_dst", dst)


@lru_cache(maxsize=64)
def _type(kind: int) -> bytes:
    return number_field(TYPE, kind)


def _name(graph: TaskGraph, operator: int, phase: int) -> bytes:
    label = graph.operator_names[operator] if operator >= 0 else ""
    return _named(f"{label} {PHASES[phase]}".strip())


@lru_cache(maxsize=1 << 14)
def _named(name: str) -> bytes:
    return run_field(NAME, name.encode())


def _rounded_micros(graph: TaskGraph) -> Ints:
    """Return whole microseconds whose sums, device after device and over all delays, are right to one."""
    order = np.argsort(graph.device, kind="stable")
    device, exact = graph.device[order], np.cumsum(graph.duration_s[order]) * _MICROS
    begins = np.flatnonzero(np.diff(device, prepend=-2))
    before = np.concatenate([[0.0], exact[:-1]])[begins] if len(exact) else exact
    exact -= np.repeat(before, np.diff(np.append(begins, len(exact))))
    until = np.rint(exact)
    last = np.concatenate([[0.0], until[:-1]]) if len(until) else until
    last[begins] = 0.0
    micros = np.zeros(len(graph), np.int64)
    micros[order] = (until - last).astype(np.int64)
    return micros


def _tags(graph: TaskGraph) -> Ints:
    """Return for each transfer the number of earlier ones of its pair, as a unique tag."""
    pair = graph.src.astype(np.int64) * graph.servers + graph.dst
    order = np.argsort(pair, kind="stable")
    begins = np.flatnonzero(np.diff(pair[order], prepend=-(graph.servers**2) - 2))
    count = np.diff(np.append(begins, len(pair)))
    tags = np.zeros(len(pair), np.int64)
    tags[order] = np.arange(len(pair)) - np.repeat(begins, count)
    return tags


@lru_cache(maxsize=1 << 10)
def exact_attribute(name: str, value: float) -> bytes:
    """Return an attribute of a node that is a number of 64 bits."""
    return run_field(
        ATTR, run_field(ATTR_NAME, name.encode()) + tag(DOUBLE, EIGHT) + struct.pack("<d", value)
    )


def text_attribute(name: str, value: str) -> bytes:
    """Return an attribute that is text, as a message."""
    return run_field(ATTR_NAME, name.encode()) + run_field(STRING, value.encode())


@lru_cache(maxsize=1 << 8)
def collective_attribute(kind: int) -> bytes:
    """Return the attribute for the collective of a node."""
    return whole_attribute("comm_type", kind, INT64)


def dependencies(graph: TaskGraph) -> tuple[Ints, Ints, Ints]:
    """Return rank, task and the task that it waits for there, in this order.

    Raises
    ------
    Infeasible
        If a task waits for one of other servers without a message between them.
    """
    tasks = len(graph)
    before, after = graph.waited_for.astype(np.int64), graph.successor.astype(np.int64)
    edge = np.arange(len(before))
    kind = graph.kind
    home = np.where(kind == COMPUTE, graph.server, graph.src).astype(
        np.int64
    )  # where one that is no collective waits
    inside = _Members(graph)
    rows = []
    alone = kind[after] != COLLECTIVE
    for ends in (home, graph.dst.astype(np.int64)):  # of the task that is waited for
        several = kind[before] == COLLECTIVE
        at = home[after]
        known = np.where(several, inside.has(before, at), ends[before] == at)
        rows.append(_rows(edge, at, alone & known))
        at = ends[before]
        rows.append(_rows(edge, at, ~alone & ~several & (at >= 0) & inside.has(after, at)))
    both = np.flatnonzero(~alone & (kind[before] == COLLECTIVE))
    at, which = inside.of(before[both])
    known = inside.has(after[both[which]], at)
    rows.append((both[which][known], at[known]))
    edges, ranks = (np.concatenate(column) for column in zip(*rows, strict=True))
    unknown = np.setdiff1d(edge, edges)
    if len(unknown):
        first = int(unknown[0])
        raise Infeasible(
            f"chakra: {graph.name(int(after[first]))} waits for {graph.name(int(before[first]))}, which no rank "
            "sees both of; there are traces of such a plan with no format"
        )
    keys = distinct((ranks * tasks + after[edges]) * tasks + before[edges])
    keys, waited_for = np.divmod(keys, max(tasks, 1))
    return *np.divmod(keys, max(tasks, 1)), waited_for


def _rows(edge: Ints, at: Ints, chosen: np.ndarray) -> tuple[Ints, Ints]:
    return edge[chosen], at[chosen]
