"""NCCL's log of a training run (``NCCL_DEBUG=INFO``, ``NCCL_DEBUG_SUBSYS=INIT,COLL``) as a recording."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from topoopt.base.errors import InvalidInput
from topoopt.workloads.recorded.calls import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    RECEIVE,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
    Call,
    Calls,
)
from topoopt.workloads.recorded.element_bytes import NCCL_BYTES
from topoopt.workloads.recorded.nccl_lines import CallLine, Communicator, MadeLine, Process, nccl_lines
from topoopt.workloads.recorded.recording import Recording

OPERATIONS: Mapping[str, str] = {
    "AllReduce": ALL_REDUCE,
    "AllGather": ALL_GATHER,
    "ReduceScatter": REDUCE_SCATTER,
    "Broadcast": BROADCAST,
    "Reduce": REDUCE,
    "Gather": GATHER,
    "Scatter": SCATTER,
    "AlltoAll": ALL_TO_ALL,
    "AllToAll": ALL_TO_ALL,
    "Send": SEND,
    "Recv": RECEIVE,
}
"""NCCL's names of what is called. A count is the numbers of one member; of a broadcast, a reduce and an AllReduce those
of the buffer."""

_REMEDY = "write it with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL, and give the logs of all processes"


def nccl_recording(lines: Iterable[str], place: str) -> Recording:
    """Return what the lines of the logs of all processes say, one process after the other or in any mixture.

    A communicator is known by its ``commId``; one as large as there are processes is that of all. The rank of an
    accelerator is that on a communicator of all; without one accelerators are numbered by host and device.

    Raises
    ------
    InvalidInput
        If there are no calls, one is unknown, or the log does not say who is in a communicator.
    """
    log = _Log(place)
    for line in nccl_lines(lines):
        if isinstance(line, MadeLine):
            log.made(line)
        else:
            log.called(line)
    return log.recording()


class _Log:
    """What has been read so far."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.processes: set[Process] = set()
        self.known: dict[Communicator, MadeLine] = {}
        self.ranks: dict[str, dict[int, Process]] = defaultdict(dict)
        self.unnamed: set[tuple[Process, int]] = set()
        self.bytes: Counter[tuple[Process, str, str, int, int]] = Counter()

    def made(self, line: MadeLine) -> None:
        """Take down a rank of a communicator."""
        self.processes.add(line.who)
        if line.parent is not None and not line.name:
            parent = self.known.get(line.parent)
            if parent is not None and parent.name:
                line = line._replace(name=f"{parent.name}/{line.split}")
        self.known[line.communicator] = line
        if line.name:
            self.ranks[line.name][line.rank] = line.who

    def called(self, line: CallLine) -> None:
        """Take down the bytes of a call, by process, communicator, kind and root."""
        if line.operation not in OPERATIONS:
            names = ", ".join(OPERATIONS)
            raise InvalidInput(f"{self.place}: {line.operation}: no call that is known; known are {names}")
        if line.datatype not in NCCL_BYTES:
            raise InvalidInput(f"{self.place}: {line.operation}: datatype {line.datatype} is not known")
        if not -1 <= line.root < line.ranks:
            raise InvalidInput(
                f"{self.place}: {line.operation}: root {line.root}, of a communicator of {line.ranks} ranks"
            )
        self.processes.add(line.who)
        made = self.known.get(line.communicator)
        name = made.name if made else ""
        size_bytes = line.numbers * NCCL_BYTES[line.datatype]
        kind = OPERATIONS[line.operation]
        if kind in (ALL_GATHER, REDUCE_SCATTER):
            size_bytes *= line.ranks
        rooted = kind in (GATHER, SCATTER, SEND, RECEIVE)
        self.bytes[line.who, name, kind, line.root if rooted else -1, line.ranks] += size_bytes

    def recording(self) -> Recording:
        """Return all of it, processes as ranks."""
        if not self.bytes:
            raise InvalidInput(f"{self.place}: NCCL's log holds no collectives; {_REMEDY}")
        order = self._order()
        rank_of = {process: rank for rank, process in enumerate(order)}
        calls, groups = Calls(), dict[tuple[str, int], tuple[list[int], tuple[int, ...]]]()
        for (who, name, kind, root, ranks), size_bytes in self.bytes.items():
            if (name, ranks) not in groups:
                numbers = [rank_of[member] for member in self._members(name, ranks, order)]
                groups[name, ranks] = numbers, tuple(sorted(numbers))
            members, group = groups[name, ranks]
            peer = -1 if root < 0 else members[root]
            calls[Call(rank_of[who], kind, () if kind in (SEND, RECEIVE) else group, peer)] += size_bytes
        hosts = list(dict.fromkeys(process.host for process in order))
        servers = tuple(hosts.index(process.host) for process in order)
        everyone = frozenset(range(len(order)))
        return Recording("NCCL's log", self.place, len(order), calls, everyone, servers=servers)

    def _order(self) -> list[Process]:
        """Return the processes in the order of their ranks: on the first communicator of all, or by host and device."""
        for ranks in self.ranks.values():
            if set(ranks.values()) == self.processes and sorted(ranks) == list(range(len(self.processes))):
                return [ranks[rank] for rank in range(len(ranks))]
        whole = {line.rank: line.who for line in self.known.values() if line.ranks == len(self.processes)}
        if sorted(whole) == list(range(len(self.processes))) and len(set(whole.values())) == len(whole):
            return [whole[rank] for rank in range(len(whole))]
        return sorted(self.processes, key=lambda one: (_natural(one.host), one.device, one.process))

    def _members(self, name: str, ranks: int, order: list[Process]) -> list[Process]:
        """Return who is in a communicator, by rank in it."""
        if name:
            of_rank = self.ranks[name]
            missing = sorted(set(range(ranks)) - set(of_rank))
            if missing:
                raise InvalidInput(
                    f"{self.place}: commId {name}: {len(of_rank)} of {ranks} ranks are in the log, rank {missing[0]} "
                    f"is not; {_REMEDY}"
                )
            return [of_rank[rank] for rank in range(ranks)]
        if ranks == len(order):
            return order
        raise InvalidInput(
            f"{self.place}: a communicator of {ranks} ranks among {len(order)} processes, and no line says which; "
            f"{_REMEDY}"
        )


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """Return a key that has node2 before node10."""
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)
