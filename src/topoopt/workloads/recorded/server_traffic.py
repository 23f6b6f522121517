"""Traffic between servers, from a recording or a matrix of accelerators.

Communication within a server is excluded. A collective of a group becomes one of its servers: members in one server
reduce or distribute among themselves. An AllReduce of M bytes stays one. All-gather and reduce-scatter of M bytes in
all shards, broadcast and reduce of M bytes send (g - 1)·M in a ring of g, half of an AllReduce, in any order of the
ring: each counts as an AllReduce of M/2. All-to-all, gather, scatter and messages are transfers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import LARGEST, MOST, refuse_too_large, whole_or_digits
from topoopt.workloads.recorded.recording import (
    ALL_REDUCE,
    ALL_TO_ALL,
    GATHER,
    RECEIVE,
    SCATTER,
    SEND,
    IterationTimes,
    Recording,
    iteration_times,
)
from topoopt.workloads.traffic import AllReduceGroup, Traffic, Transfers, merged_traffic


class GroupCall(NamedTuple):
    """Collective of a group: kind, ranks ascending, and the root if there is one, else -1."""

    kind: str
    members: tuple[int, ...]
    root: int


_BYTES_OF_A_PAIR = 32
"""Memory per pair of servers for the matrix and its derivatives."""


def recorded_traffic(
    recording: Recording, accelerators_per_server: int | None = None, iterations: int | str | None = None
) -> Traffic:
    """Return the traffic between servers in one iteration of a recorded run.

    Parameters
    ----------
    accelerators_per_server
        Ranks r·N to r·N + N - 1 are server r; by default as in the recording.
    iterations
        Recorded iterations; by default as in the recording, or one.

    Raises
    ------
    InvalidInput
        If all accelerators are on one server, they do not fill the servers, or ranks are missing.
    """
    servers = servers_of_ranks(recording, accelerators_per_server)
    times = _iterations(recording, iterations)
    count = max(servers) + 1
    refuse_too_large(f"{recording.place}: {count} servers", _BYTES_OF_A_PAIR * count**2, "use fewer servers")
    matrix = np.zeros((count, count))
    halves: dict[tuple[int, ...], int] = defaultdict(int)
    for group, size_bytes in group_bytes(recording).items():
        _lay(group, size_bytes, servers, matrix, halves)
    for (src, dst), size_bytes in message_bytes(recording).items():
        matrix[servers[src], servers[dst]] += size_bytes
    np.fill_diagonal(matrix, 0.0)
    most = max(float(matrix.max()), *map(float, halves.values()), 0.0)
    if most > LARGEST:
        raise InvalidInput(
            f"{recording.place}: {most:g} bytes in one place, at most {LARGEST} can be counted"
        )
    groups = [AllReduceGroup(members, round(half / 2 / times)) for members, half in halves.items()]
    senders, receivers = np.nonzero(matrix)
    sizes = np.rint(matrix[senders, receivers] / times).astype(np.int64)
    return merged_traffic(len(matrix), groups, (), Transfers(senders, receivers, sizes))


def recorded_times(
    recording: Recording, accelerators_per_server: int | None = None, iterations: int | str | None = None
) -> IterationTimes | None:
    """Return the network-independent times of an iteration, None where the recording has none."""
    servers = servers_of_ranks(recording, accelerators_per_server)
    return iteration_times(recording.devices, servers, _iterations(recording, iterations))


def _iterations(recording: Recording, iterations: int | str | None) -> int:
    said = recording.iterations or 1 if iterations is None else iterations
    return whole_or_digits("iterations", said, 1, MOST["iterations"])


def servers_of_ranks(recording: Recording, accelerators_per_server: int | None) -> tuple[int, ...]:
    """Return the server of each rank; errors as :func:`recorded_traffic`."""
    count, place = recording.accelerators, recording.place
    some = [each for each in (8, 4, 2, 1) if each < count and count % each == 0]
    if count == 1:
        raise InvalidInput(
            f"{place}: is of one accelerator, which sends nothing; record a run of several servers"
        )
    if accelerators_per_server is not None:
        servers = tuple(rank // accelerators_per_server for rank in range(count))
        if count % accelerators_per_server:
            raise InvalidInput(
                f"{place}: is of {count} accelerators, which do not fill servers of "
                f"accelerators_per_server={accelerators_per_server}"
            )
    elif recording.servers:
        servers = recording.servers
    else:
        raise InvalidInput(
            f"{place}: is of {count} accelerators, and does not say which share a server; give "
            f"accelerators_per_server={some[0]}, or as many as do"
        )
    if max(servers) == 0:
        raise InvalidInput(
            f"{place}: all {count} accelerators are in one server, and nothing is sent between servers; give "
            f"accelerators_per_server={min(some[0], 2)}, if so many are to be in each"
        )
    return servers


def folded_matrix(matrix: Floats, accelerators_per_server: int, place: str) -> Floats:
    """Return the bytes between servers of a matrix of accelerators; rows r·N to r·N + N - 1 are server r.

    Raises
    ------
    InvalidInput
        If the rows do not fill the servers.
    """
    rows = len(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        return matrix  # refused where it becomes traffic
    if rows % accelerators_per_server:
        raise InvalidInput(
            f"{place}: has {rows} rows, which do not fill servers of "
            f"accelerators_per_server={accelerators_per_server}"
        )
    servers = rows // accelerators_per_server
    shape = (servers, accelerators_per_server, servers, accelerators_per_server)
    folded: Floats = matrix.reshape(shape).sum(axis=(1, 3))
    return folded


def _lay(
    group: GroupCall,
    size_bytes: int,
    servers: Sequence[int],
    matrix: Floats,
    halves: dict[tuple[int, ...], int],
) -> None:
    """Add the bytes of a collective to the matrix, or half AllReduces to those of its servers."""
    where = np.array([servers[rank] for rank in group.members])
    if group.kind == ALL_TO_ALL:
        count = np.bincount(where, minlength=len(matrix))
        matrix += np.multiply.outer(count, count) * float(size_bytes)
    elif group.kind in (GATHER, SCATTER):
        root = np.full(len(where), servers[group.root])
        ends = (where, root) if group.kind == GATHER else (root, where)
        np.add.at(matrix, ends, float(size_bytes))
    else:
        halves[tuple(np.unique(where).tolist())] += size_bytes * (2 if group.kind == ALL_REDUCE else 1)


def group_bytes(recording: Recording) -> dict[GroupCall, int]:
    """Return the bytes of the collectives of every group of the run.

    All members report the same; if a part of a log is missing, the largest report counts. A group that no rank reports
    is assumed to send as much as groups of the same layout: size and stride of ranks.

    Raises
    ------
    InvalidInput
        If a rank reports nothing, and its groups do not follow from those of others.
    """
    said: dict[GroupCall, int] = defaultdict(int)
    for call, size_bytes in recording.calls.items():
        if call.members:
            _check(recording, call.members)
            if list(call.members) != sorted(set(call.members)):
                raise InvalidInput(
                    f"{recording.place}: {call.kind} among {str(list(call.members))[:60]}: a rank stands twice"
                )
            group = GroupCall(call.kind, call.members, call.peer)
            said[group] = max(said[group], size_bytes)
    silent = frozenset(range(recording.accelerators)) - recording.recorded
    if silent:
        for group, size_bytes in list(said.items()):
            for other in _alike(group, recording):
                if silent.issuperset(other.members):
                    said[other] = max(said[other], size_bytes)
    return dict(said)


def message_bytes(recording: Recording) -> Mapping[tuple[int, int], int]:
    """Return the bytes of messages by sender and receiver; a message counts once, whichever of the two reports it.

    Raises
    ------
    InvalidInput
        If there are messages and ranks that report nothing: their sends are unknown.
    """
    sent: dict[str, dict[tuple[int, int], int]] = {SEND: defaultdict(int), RECEIVE: defaultdict(int)}
    for call, size_bytes in recording.calls.items():
        if call.kind in sent:
            _check(recording, (call.peer,))
            pair = (call.rank, call.peer) if call.kind == SEND else (call.peer, call.rank)
            sent[call.kind][pair] += size_bytes
    pairs = sent[SEND].keys() | sent[RECEIVE].keys()
    silent = sorted(set(range(recording.accelerators)) - recording.recorded)
    if pairs and silent:
        raise InvalidInput(
            f"{recording.place}: ranks send each other messages, and rank {silent[0]} of {recording.accelerators} is "
            "not recorded; give the recordings of all ranks"
        )
    return {pair: max(sent[SEND].get(pair, 0), sent[RECEIVE].get(pair, 0)) for pair in sorted(pairs)}


def _alike(group: GroupCall, recording: Recording) -> Iterator[GroupCall]:
    """Yield the groups that together with this one are all ranks: as large, their ranks as far apart."""
    members, everyone = group.members, recording.accelerators
    size, first = len(members), members[0]
    stride = members[1] - first if size > 1 else 1
    block = stride * size
    regular = members == tuple(range(first, first + block, stride)) and everyone % block == 0
    if size in (everyone, 1):
        return
    if not regular or first % block >= stride or group.kind in (GATHER, SCATTER):
        raise InvalidInput(
            f"{recording.place}: {group.kind} among ranks {str(list(members))[:60]}: what the other ranks do does not "
            "follow from it; give the recordings of all ranks"
        )
    for begin in range(0, everyone, block):
        for offset in range(stride):
            start = begin + offset
            yield GroupCall(group.kind, tuple(range(start, start + block, stride)), group.root)


def _check(recording: Recording, ranks: tuple[int, ...]) -> None:
    if max(ranks) >= recording.accelerators or min(ranks) < 0:
        raise InvalidInput(
            f"{recording.place}: rank {max(ranks)} of a run of {recording.accelerators} accelerators"
        )
