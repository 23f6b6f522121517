"""From the calls that were recorded to those of all ranks: what all report counts once, the silent do as others do."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from topoopt.base.errors import InvalidInput
from topoopt.workloads.recorded.calls import GATHER, RECEIVE, SCATTER, SEND
from topoopt.workloads.recorded.recording import Recording


class GroupCall(NamedTuple):
    """What a group does together: kind, ranks ascending, and root where there is one, else -1."""

    kind: str
    members: tuple[int, ...]
    root: int


def group_bytes(recording: Recording) -> dict[GroupCall, int]:
    """Return the bytes of the collectives of every group of the run.

    All members report the same; where a part of a log is missing the most that one reports counts. A group of which
    nobody reports does what the groups do that are placed like it: its ranks lie as far apart.

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
    """Return the bytes of messages by sender and receiver; a message counts once, whoever of the two reports it.

    Raises
    ------
    InvalidInput
        If there are messages, and ranks that report nothing: what they send follows from nobody else.
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
