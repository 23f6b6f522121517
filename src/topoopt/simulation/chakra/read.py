"""Read Chakra's execution traces: one file for each rank, and the file of process groups beside them.

Traces of a workload of SimAI, too: one for each server, in the order in which SimAI runs its layers.
"""

import os
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.schema.files import decoding, is_file, read_bytes, read_json, read_text
from topoopt.simulation.chakra.trace import (
    ATTR,
    ATTR_NAME,
    BARRIER,
    BOOL,
    BOOL_LIST,
    COLL,
    COLLECTIVE_TYPES,
    COMP,
    CTRL_DEPS,
    DATA_DEPS,
    DURATION,
    EXACT_DURATION,
    EXACT_SIZE,
    FIXED,
    ID,
    KINDS,
    META_ATTR,
    META_VERSION,
    NAME,
    RECV,
    RUN,
    SEND,
    STRING,
    TYPE,
    UNSIGNED,
    VARINT,
    ZIGZAG,
    ChakraNode,
    ChakraTrace,
    ChakraTraces,
    Field,
    fields,
    numbers,
    read_varint,
    seconds,
    signed,
    whole,
)
from topoopt.workloads.recorded import (
    ALL_TO_ALL,
    Call,
    Calls,
    DeviceTimes,
    Recording,
    SimaiWorkload,
    scale_up_s,
    servers_of_ranks,
    simai_recording,
    simai_workload,
)

_MICRO = 1e-6
SUFFIX = ".et"
GROUP_FILES = ("comm_group.json", "comm_groups.json")
MOST_RANKS = 100_000
MOST_NODES = 1_000_000
_NUMBERS = {ours: COLLECTIVE_TYPES.index(theirs) for theirs, ours in reversed(KINDS.items())}
_NAME = re.compile(r"(.*)\.(\d{1,9})\.et", re.DOTALL)
_REMEDY = "expected PREFIX.0.et, PREFIX.1.et …, one for each rank"


def is_chakra(path: str) -> bool:
    """Return whether a path denotes Chakra traces: a folder of them, one of the files, or their common prefix."""
    if Path(path).is_dir():
        return any(name.endswith(SUFFIX) for name in os.listdir(path))
    return path.lower().endswith(SUFFIX) or (not is_file(path) and _is_prefix(path))


def read_chakra(path: str) -> ChakraTraces:
    """Return the traces in a folder, with a prefix, or beside one of them.

    Raises
    ------
    InvalidInput
        If there are none, several sets of them, a rank is missing, or a file is no trace.
    """
    files = _files(path)
    if len(files) > MOST_RANKS:
        raise InvalidInput(f"{path}: {len(files)} ranks, at most {MOST_RANKS} are simulated")
    missing = sorted(set(range(max(files) + 1)) - set(files))
    if missing:
        there = f"{len(files)} files up to rank {max(files)}"
        raise InvalidInput(f"{path}: rank {missing[0]} is missing, there are {there}; {_REMEDY}")
    traces = tuple(parse_chakra(read_bytes(files[rank]), str(files[rank])) for rank in range(len(files)))
    return ChakraTraces(path, traces, _groups(files[0], len(files)))


def parse_chakra(data: bytes, place: str = "trace") -> ChakraTrace:
    """Parse a trace.

    Raises
    ------
    InvalidInput
        If they are no trace, or end too early.
    """
    messages, at = [], 0
    with decoding(place, "no Chakra trace", "write it again"):
        while at < len(data):
            begin = at
            size, at = read_varint(data, at)
            if size > len(data) - at:
                raise ValueError(
                    f"byte {begin}: a message of {size} bytes, of which {len(data) - at} are there"
                )
            messages.append(data[at : at + size])
            at += size
        if not messages:
            raise ValueError("is empty")
        message = messages[0]
        version, attributes = "", {}
        for field in fields(message):
            if field.number == META_VERSION and field.kind == RUN:
                version = field.data.decode()
            elif field.number == META_ATTR and field.kind == RUN:
                name, value = _attribute(field.data)
                attributes[name] = value
            else:
                raise ValueError(
                    f"the first message has a field {field.number}, expected version and attributes"
                )
        return ChakraTrace(place, version, attributes, tuple(_node(message) for message in messages[1:]))


def _files(path: str) -> dict[int, Path]:
    given = Path(path)
    folder, wanted = (given, None) if given.is_dir() else (given.parent, given.name)
    if wanted is not None and (match := _NAME.fullmatch(wanted)):
        wanted = match[1]
    elif wanted is not None and wanted.lower().endswith(SUFFIX):
        if not is_file(path):
            raise InvalidInput(f"{path}: no such file; {_REMEDY}")
        return {0: given}
    sets: dict[str, dict[int, Path]] = {}
    try:
        for file in folder.iterdir():
            match = _NAME.fullmatch(file.name)
            if match and wanted in (None, match[1]):
                sets.setdefault(match[1], {})[int(match[2])] = file
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from None
    if not sets:
        raise InvalidInput(f"{path}: is a directory without Chakra's traces; {_REMEDY}, or a file")
    if len(sets) > 1:
        names = ", ".join(str(folder / name) for name in sorted(sets)[:4])
        raise InvalidInput(f"{path}: holds {len(sets)} sets of traces; name one of them: {names}")
    return next(iter(sets.values()))


def _is_prefix(path: str) -> bool:
    given = Path(path)
    try:
        return is_file(given.parent / f"{given.name}.0.et")
    except ValueError:  # no file has such a name
        return False


def _groups(first: Path, ranks: int) -> Mapping[str, tuple[int, ...]]:
    """Return the process groups: those of the file beside the traces, PREFIX.comm_group.json or comm_group.json."""
    prefix = first.name.removesuffix(".0.et")
    places = [first.parent / name for each in GROUP_FILES for name in (f"{prefix}.{each}", each)]
    place = next((place for place in places if is_file(place)), None)
    if place is None:
        return {}
    content = read_json(place, 'expected process groups such as {"1": [0, 1]}')
    if not isinstance(content, dict):
        raise InvalidInput(f'{place}: expected process groups such as {{"1": [0, 1]}}, got {content!r:.80}')
    groups = {}
    for name, members in content.items():
        whole = isinstance(members, list) and all(type(rank) is int for rank in members)
        if not whole or not members or len(set(members)) < len(members):
            raise InvalidInput(f"{place}: group {name}: expected different ranks, got {members!r:.80}")
        outside = [rank for rank in members if not 0 <= rank < ranks]
        if outside:
            raise InvalidInput(f"{place}: group {name}: rank {outside[0]} has no trace, there are {ranks}")
        groups[name] = tuple(members)
    return groups


def _node(message: bytes) -> ChakraNode:
    plain = {ID: 0, TYPE: 0, DURATION: 0}
    name, waits_for, attributes = "", list[int](), {}
    for field in fields(message):
        if field.number in plain and field.kind == VARINT:
            plain[field.number] = field.value
        elif field.number == NAME and field.kind == RUN:
            name = field.data.decode()
        elif field.number in (CTRL_DEPS, DATA_DEPS):
            waits_for += numbers(field)
        elif field.number == ATTR and field.kind == RUN:
            key, value = _attribute(field.data)
            attributes[key] = value
    return ChakraNode(plain[ID], name, plain[TYPE], tuple(waits_for), plain[DURATION], attributes)


@lru_cache(maxsize=1 << 16)  # most attributes of a file are alike
def _attribute(message: bytes) -> tuple[str, Any]:
    name, value = "", None
    for field in fields(message):
        if field.number == ATTR_NAME:
            name = field.data.decode()
        elif field.number > ATTR_NAME + 1:
            value = _value(field)
    return name, value


def _value(field: Field) -> Any:
    """Return the value of an attribute; lists other than of booleans as bytes, which are not used."""
    if field.number in UNSIGNED and field.kind == VARINT:
        return bool(field.value) if field.number == BOOL else signed(field.value)
    if field.number in ZIGZAG and field.kind == VARINT:
        return (field.value >> 1) ^ -(field.value & 1)
    if field.number in FIXED:
        return struct.unpack(FIXED[field.number], field.data)[0]
    if field.number == STRING:
        return field.data.decode()
    if field.number == BOOL_LIST:
        return tuple(bool(value) for inner in fields(field.data) for value in numbers(inner))
    return field.data


def chakra_recording(traces: ChakraTraces, scale_up_bps: float) -> Recording:
    """Return the recording of the traces, with times of collectives inside a server at a bandwidth.

    A node without ``pg_name`` is for all ranks.

    ``comm_size`` is the buffer of a rank: its own shard in an all-gather, its data for all ranks in an all-to-all.

    Raises
    ------
    InvalidInput
        With file and node, if a kind is unknown, or a size or the other end of a message is missing.
    """
    everyone = tuple(range(len(traces.ranks)))
    groups = {**_by_nodes(traces), **{name: tuple(sorted(ranks)) for name, ranks in traces.groups.items()}}
    calls = Calls()
    for rank, trace in enumerate(traces.ranks):
        for node in trace.nodes:
            if node.type == COLL and (kind := _kind(trace, node)) != BARRIER:
                members = groups.get(_group(node), everyone)
                if rank not in members:
                    reason = f"pg_name {_group(node)}: rank {rank} is not in that group {repr(members)[:60]}"
                    raise trace.refusal(node, reason)
                calls[Call(rank, kind, members)] += _size_bytes(trace, node, kind, len(members))
            elif node.type in (SEND, RECV):
                end, name = ("comm_dst", "send") if node.type == SEND else ("comm_src", "receive")
                calls[Call(rank, name, (), whole(trace, node, end))] += whole(trace, node, "comm_size")
    sent_s: list[list[tuple[tuple[int, ...], float]]] = [[] for _ in everyone]
    for call, size_bytes in calls.items():
        if len(call.members) > 1:
            sent_s[call.rank].append((call.members, scale_up_s(call, size_bytes, scale_up_bps)))
    devices = tuple(map(_device_times, traces.ranks, sent_s))
    return Recording(
        "Chakra's traces",
        traces.place,
        len(everyone),
        calls,
        frozenset(everyone),
        iterations=1,
        devices=devices,
        measured=False,
    )


def _device_times(trace: ChakraTrace, sent_s: Iterable[tuple[tuple[int, ...], float]]) -> DeviceTimes:
    """Return the computation of a rank, then its collectives, one after the other: traces have no start times."""
    computing = [
        seconds(trace, node, EXACT_DURATION, node.duration_micros * _MICRO)
        for node in trace.nodes
        if node.type == COMP and not node.attributes.get("is_cpu_op")
    ]
    kernels, now_s = list[tuple[tuple[int, ...], Floats]](), sum(computing)
    compute = np.array([[0.0, now_s]])
    for members, time_s in sent_s:
        kernels.append((members, np.array([[now_s, now_s := now_s + time_s]])))
    return DeviceTimes(compute, tuple(kernels), now_s)


def _kind(trace: ChakraTrace, node: ChakraNode) -> str:
    number = whole(trace, node, "comm_type")
    theirs = COLLECTIVE_TYPES[number] if number < len(COLLECTIVE_TYPES) else str(number)
    if theirs not in KINDS:
        raise trace.refusal(node, f"comm_type {theirs}: expected one of {', '.join(KINDS)}")
    return KINDS[theirs]


def _size_bytes(trace: ChakraTrace, node: ChakraNode, kind: str, members: int) -> int:
    size_bytes = whole(trace, node, "comm_size")
    if kind == "all-gather":
        return whole(trace, node, EXACT_SIZE, size_bytes * members)
    return size_bytes // members if kind == "all-to-all" else size_bytes


def _group(node: ChakraNode) -> str:
    return str(node.attributes.get("pg_name", ""))


def _by_nodes(traces: ChakraTraces) -> dict[str, tuple[int, ...]]:
    found: dict[str, dict[int, None]] = {}
    for rank, trace in enumerate(traces.ranks):
        for name in {_group(node) for node in trace.nodes if node.type == COLL} - {""}:
            found.setdefault(name, {})[rank] = None
    return {name: tuple(ranks) for name, ranks in found.items()}


def workload_traces(path: str, accelerators_per_server: int | None, scale_up_bps: float) -> ChakraTraces:
    """Return the traces of all servers; exchanges inside one take the time of its scale-up domain.

    A collective of weights runs beside later computation; the next layer waits for any other.

    Raises
    ------
    InvalidInput
        As :func:`~topoopt.workloads.recorded.simai_workload`; if ranks do not fill servers, or there are too many
        nodes.
    """
    workload = simai_workload(read_text(path), path)
    servers = servers_of_ranks(simai_recording(workload, scale_up_bps), accelerators_per_server)
    if (nodes := 2 * len(workload.passes) * workload.ranks) > MOST_NODES:
        raise InvalidInput(
            f"{path}: {nodes} nodes of {workload.ranks} ranks, at most {MOST_NODES} are simulated; topoopt traffic and "
            "plan take it"
        )
    groups: dict[str, tuple[int, ...]] = {}
    per_server = servers.count(0)
    own = (range(first, first + per_server) for first in range(0, workload.ranks, per_server))
    traces = tuple(_trace(workload, ranks, servers, groups, scale_up_bps) for ranks in own)
    return ChakraTraces(path, traces, groups)


def _trace(
    workload: SimaiWorkload,
    own: Sequence[int],
    servers: Sequence[int],
    groups: dict[str, tuple[int, ...]],
    scale_up_bps: float,
) -> ChakraTrace:
    """Return the trace of a server: collectives of its ranks with others, one for each group."""
    nodes: list[ChakraNode] = []
    last: tuple[int, ...] = ()
    for one in workload.passes:
        name = f"{one.layer} {'forward' if one.name == 'forward' else 'backward'}"
        compute_s, sends = one.compute_s, list[tuple[str, int]]()
        calls = (workload.call(rank, one) for rank in own)
        for call, size_bytes in {call.members: (call, size) for call, size in calls if call.members}.values():
            where, count = np.unique([servers[rank] for rank in call.members], return_counts=True)
            if len(where) == 1:
                compute_s = one.compute_s + scale_up_s(call, size_bytes, scale_up_bps)
                continue
            group = f"{one.group} {call.members[0]}"
            groups[group] = tuple(where.tolist())
            pairs = int(len(call.members) ** 2 - (count**2).sum())  # of accelerators on different servers
            buffers = pairs // (len(where) - 1) if call.kind == ALL_TO_ALL else 1
            sends.append((group, size_bytes * buffers))
        nodes.append(ChakraNode(len(nodes), name, COMP, last, 0, {EXACT_DURATION: compute_s}))
        last = computed = (len(nodes) - 1,)
        for group, size in sends:
            said = {
                "comm_type": _NUMBERS[one.collective],
                "comm_size": size,
                "pg_name": group,
                EXACT_SIZE: size,
            }
            nodes.append(ChakraNode(len(nodes), name, COLL, computed, 0, said))
            last = last if one.name == "weights" else (*last, len(nodes) - 1)
    return ChakraTrace(workload.place, "", {}, tuple(nodes))
