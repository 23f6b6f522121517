"""The lines of NCCL's log that say who calls what: communicators as they are made, and calls on them.

References
----------
.. [1] github.com/NVIDIA/nccl, ``src/enqueue.cc`` (``ncclEnqueueCheck``) and ``src/init.cc`` (``Init START``): what a
   process prints with ``NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL``. Since 2.23 or so a communicator that was split
   from another is printed with its parent and no ``commId``; before, with both.
.. [2] github.com/ROCm/rccl, the same files: more words behind the ``commId``, and behind each call.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_WHO = r"([^\s:()\[\]]+):(\d+):\d+ \[(\d+)\] (?:\d+ )?NCCL INFO "
"""Host, process and device; RCCL may write a time behind them."""
_CALL = re.compile(
    _WHO
    + r"(\w+): opCount \w+ sendbuff \S+ recvbuff \S+ (?:acc \S+ )?count (\d+) datatype (\d+) op \d+ root (-?\d+) "
    r"comm (0x[0-9a-fA-F]+) \[nranks=(\d+)\]"
)
_MADE = re.compile(
    _WHO + r".*?\bcomm (0x[0-9a-fA-F]+) rank (\d+) nranks (\d+) (.*?) ?- Init (?:START|COMPLETE)"
)
_NAME = re.compile(r"\bcommId (0x0*[1-9a-fA-F][0-9a-fA-F]*)")
_SPLIT = re.compile(r"\bparent (0x[0-9a-fA-F]+) splitCount (\d+) color (-?\d+)")


class Process(NamedTuple):
    """An accelerator, as a line begins: host, process, and which of the process's devices."""

    host: str
    process: int
    device: int


class Communicator(NamedTuple):
    """What a process knows a communicator by."""

    host: str
    process: int
    pointer: str


class MadeLine(NamedTuple):
    """A process has become a rank of a communicator.

    Attributes
    ----------
    name : str
        The same for all its ranks; empty in old logs, and of what was split from another communicator.
    parent : Communicator or None
        From which it was split; with ``split``, the number of that split and its color, it is known without a name.
    """

    who: Process
    communicator: Communicator
    rank: int
    ranks: int
    name: str
    parent: Communicator | None = None
    split: str = ""


class CallLine(NamedTuple):
    """A process has called something on a communicator of ``ranks``."""

    who: Process
    communicator: Communicator
    operation: str
    numbers: int
    datatype: int
    root: int
    ranks: int


def is_nccl_log(text: str) -> bool:
    """Return whether text has lines of NCCL's log."""
    return re.search(_WHO, text) is not None


def nccl_lines(lines: Iterable[str]) -> Iterator[MadeLine | CallLine]:
    """Yield what the lines of a log say of communicators and calls; whatever else stands there is passed over."""
    for line in lines:
        if "NCCL INFO" not in line:
            continue
        if "opCount" in line and (call := _CALL.search(line)):
            host, process, device, operation, count, datatype, root, pointer, ranks = call.groups()
            who = Process(host, int(process), int(device))
            named = Communicator(host, who.process, pointer)
            yield CallLine(who, named, operation, int(count), int(datatype), int(root), int(ranks))
        elif "- Init" in line and (made := _MADE.search(line)):
            host, process, device, pointer, rank, ranks, rest = made.groups()
            who = Process(host, int(process), int(device))
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
