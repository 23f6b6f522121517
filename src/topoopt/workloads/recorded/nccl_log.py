"""NCCL's log of a training run (``NCCL_DEBUG=INFO``, ``NCCL_DEBUG_SUBSYS=INIT,COLL``) as a recording.

References
----------
.. [1] github.com/NVIDIA/nccl, ``src/enqueue.cc`` (``ncclEnqueueCheck``) and ``src/init.cc`` (``Init START``): the
   output with ``NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL``. Since 2.23 or so a communicator that was split
   from another is printed with its parent and no ``commId``; before, with both.
.. [2] github.com/ROCm/rccl, the same files: more words behind the ``commId``, and behind each call.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from topoopt.base.errors import InvalidInput, shown
from topoopt.workloads.recorded.recording import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    GATHER,
    MOST_RANKS,
    NCCL_BYTES,
    RECEIVE,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
    SEND,
    Call,
    Calls,
    Recording,
)

_WHO = r"(?<![^\s:()\[\]])([^\s:()\[\]]+):(\d{1,12}):\d{1,12} \[(\d{1,6})\] (?:\d{1,20} )?NCCL INFO "
"""Host, process and device; RCCL may write a time behind them. A host begins where a word does, for speed."""
_CALL = re.compile(
    _WHO
    + r"(\w+): opCount (\w+) sendbuff \S+ recvbuff \S+ (?:acc \S+ )?count (\S+) datatype (\d{1,6}) op \d+ "
    r"root (-?\d{1,12}) comm (0x[0-9a-fA-F]+) \[nranks=(\d{1,12})\]"
)
_COUNT = re.compile(r"[0-9]{1,16}")
_FROM = re.compile(_WHO)
_RANK = re.compile(r"\bcomm (0x[0-9a-fA-F]+) rank (\d{1,12}) nranks (\d{1,12}) ")
_MADE = re.compile(r"- Init (?:START|COMPLETE)")
_NAME = re.compile(r"\bcommId (0x0*[1-9a-fA-F][0-9a-fA-F]*)")
_SPLIT = re.compile(r"\bparent (0x[0-9a-fA-F]+) splitCount (\d+) color (-?\d+)")


class Process(NamedTuple):
    """An accelerator, as a line begins: host, process, and which of the process's devices."""

    host: str
    process: int
    device: int


class Communicator(NamedTuple):
    """Identity of a communicator within one process."""

    host: str
    process: int
    pointer: str


class MadeLine(NamedTuple):
    """A process has become a rank of a communicator.

    Attributes
    ----------
    name : str
        Name, equal for all ranks; empty in old logs, and for a communicator split from another one.
    parent : Communicator or None
        Communicator that it was split from; with ``split``, the number of that split and its color, it needs no
        name.
    """

    who: Process
    communicator: Communicator
    rank: int
    ranks: int
    name: str
    parent: Communicator | None = None
    split: str = ""


class CallLine(NamedTuple):
    """A process has called something on a communicator of ``ranks``; several calls at once may have one ``number``."""

    line: int
    who: Process
    communicator: Communicator
    operation: str
    number: str
    numbers: int
    datatype: int
    root: int
    ranks: int


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
"""NCCL's names of calls. A count is in numbers per member; for broadcast, reduce and AllReduce, of the buffer."""
_REMEDY = "write it with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL, and give the logs of all processes"


def nccl_recording(lines: Iterable[str], place: str) -> Recording:
    """Return the recording in the logs of all processes, one after the other or interleaved.

    A communicator is known by its ``commId``; one as large as there are processes is that of all. The rank of an
    accelerator is that on a communicator of all; without one accelerators are numbered by host and device.

    Raises
    ------
    InvalidInput
        If there are no calls, one is unknown, or the log lacks the members of a communicator.
    """
    log = _Log(place)
    for line in nccl_lines(lines, place):
        if isinstance(line, MadeLine):
            log.made(line)
        else:
            log.called(line)
    return log.recording()


class _Log:
    def __init__(self, place: str) -> None:
        self.place = place
        self.processes: set[Process] = set()
        self.known: dict[Communicator, MadeLine] = {}
        self.ranks: dict[str, dict[int, Process]] = defaultdict(dict)
        self.unnamed: set[tuple[Process, int]] = set()
        self.bytes: Counter[tuple[Process, str, str, int, int]] = Counter()
        self.last: dict[tuple[Process, str], tuple[str, int]] = {}
        self.first: dict[tuple[str, int, str, int], CallLine] = {}

    def made(self, line: MadeLine) -> None:
        """Record a rank of a communicator."""
        self.processes.add(line.who)
        if line.parent is not None and not line.name:
            parent = self.known.get(line.parent)
            if parent is not None and parent.name:
                line = line._replace(name=f"{parent.name}/{line.split}")
        self.known[line.communicator] = line
        if line.name:
            self.ranks[line.name][line.rank] = line.who

    def called(self, line: CallLine) -> None:
        """Record the bytes of a call, by process, communicator, kind and root."""
        if line.operation not in OPERATIONS:
            names = ", ".join(OPERATIONS)
            raise InvalidInput(f"{self.place}: {line.operation}: no call that is known; known are {names}")
        if line.ranks > MOST_RANKS:
            raise InvalidInput(
                f"{self.place}: {line.operation}: nranks {line.ranks}, at most {MOST_RANKS} are read"
            )
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
        if kind not in (SEND, RECEIVE):
            self._check_same(line, name or line.communicator.pointer)
        rooted = kind in (GATHER, SCATTER, SEND, RECEIVE)
        self.bytes[line.who, name, kind, line.root if rooted else -1, line.ranks] += size_bytes

    def _check_same(self, line: CallLine, name: str) -> None:
        """Refuse a call whose count is another than that of the first rank that made it."""
        number, place = self.last.get((line.who, name), ("", 0))
        place = place + 1 if number == line.number else 0
        self.last[line.who, name] = line.number, place
        first = self.first.setdefault((name, line.ranks, line.number, place), line)
        if first.operation == line.operation and first.numbers != line.numbers:
            raise InvalidInput(
                f"{self.place}: line {line.line}: {line.operation}: opCount {line.number}: count {line.numbers}, and "
                f"{first.numbers} of another rank in line {first.line}; give the logs of one run"
            )

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


def is_nccl_log(text: str) -> bool:
    """Return whether text has lines of NCCL's log."""
    return _FROM.search(text) is not None


def nccl_lines(lines: Iterable[str], place: str) -> Iterator[MadeLine | CallLine]:
    """Yield the lines of a log about communicators and calls; others are skipped.

    Raises
    ------
    InvalidInput
        For a call whose count is no whole number, with the line.
    """
    for at, line in enumerate(lines, 1):
        if "NCCL INFO" not in line:
            continue
        if "opCount" in line and (call := _CALL.search(line)):
            host, process, device, operation, number, count, datatype, root, pointer, ranks = call.groups()
            who = Process(host, int(process), int(device))
            named = Communicator(host, who.process, pointer)
            if not _COUNT.fullmatch(count):
                raise InvalidInput(
                    f"{place}: line {at}: {operation}: count: expected an integer >= 0 of at most 16 digits, got "
                    f"{shown(count)}"
                )
            yield CallLine(
                at, who, named, operation, number, int(count), int(datatype), int(root), int(ranks)
            )
        elif (
            "- Init" in line
            and (begins := _FROM.search(line))
            and (made := _RANK.search(line, begins.end()))
            and (ends := _MADE.search(line, made.end()))
        ):
            (host, process, device), (pointer, rank, ranks) = begins.groups(), made.groups()
            who, rest = Process(host, int(process), int(device)), line[made.end() : ends.start()]
            name, split = _NAME.search(rest), _SPLIT.search(rest)
            yield MadeLine(
                who,
                Communicator(host, who.process, pointer),
                int(rank),
                int(ranks),
                name[1] if name else "",
                Communicator(host, who.process, split[1]) if split else None,
                f"{split[2]}/{split[3]}" if split else "",
            )
