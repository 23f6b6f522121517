"""An interpreter of MSCCL's XML: runs the thread blocks of all accelerators, and sees whether every shard arrives.

A send and its receive happen together, as if nothing were buffered between two accelerators; so what runs here does not
depend on the room that a real one has. Only steps that receive and send at once need some, see ``msccl_slots.py``.
"""

from collections import defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

from topoopt.base.errors import InvalidInput
from topoopt.collectives.msccl import BUFFERS, COLLECTIVES
from topoopt.collectives.msccl_slots import FUSED, run_fused
from topoopt.collectives.play import Buffers, buffers_before, missing_after

_SENDS, _RECEIVES = ("s",), ("r", "rrc")
_OURS = {theirs: ours for ours, theirs in COLLECTIVES.items()}


@dataclass(frozen=True, slots=True)
class MscclRun:
    """What came out.

    Attributes
    ----------
    missing : int
        Chunks that did not arrive, or arrived wrong.
    steps : int
        Of the longest thread block.
    thread_blocks : int
        Of the accelerator that has most.
    messages : int
        Sent in all.
    """

    missing: int
    steps: int
    thread_blocks: int
    channels: int
    messages: int


@dataclass(slots=True)
class _Block:
    rank: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[Mapping[str, str]]
    done: int = 0


def run_msccl(text: str) -> MscclRun:
    """Run a file of the types ``s``, ``r``, ``rrc``, ``cpy`` and ``nop``, and an AllReduce of fused ones, too.

    Raises
    ------
    InvalidInput
        If it is not such a file, thread blocks wait for each other in a circle, or a chunk is sent that is not there.
    """
    try:
        root = ElementTree.fromstring(text)
        collective = _OURS[root.attrib["coll"]]
        ranks = int(root.attrib["ngpus"])
        blocks = [_block(int(gpu.attrib["id"]), tb) for gpu in root for tb in gpu]
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise InvalidInput(f"msccl: not a file of MSCCL: {error}") from None
    chunks = int(root.attrib["nchunksperloop"])
    before = buffers_before(collective, ranks, chunks * ranks if collective == "all-to-all" else chunks)
    after = Buffers(before.value.copy(), before.held.copy())
    fused = any(step["type"] in FUSED for block in blocks for step in block.steps)
    if fused and collective == "allreduce":
        run_fused(blocks, after)
    else:
        _Machine(collective, blocks, after).run()
    for block in blocks:
        if block.done < len(block.steps):
            raise InvalidInput(
                f"msccl: thread block {block.number} of accelerator {block.rank} waits forever at step {block.done}"
            )
    of_rank: dict[int, int] = defaultdict(int)
    for block in blocks:
        of_rank[block.rank] += 1
    return MscclRun(
        missing_after(collective, before, after),
        max(len(block.steps) for block in blocks),
        max(of_rank.values()),
        int(root.attrib["nchannels"]),
        sum(step["type"] in (*_SENDS, *FUSED) for block in blocks for step in block.steps),
    )


def _block(rank: int, tb: ElementTree.Element) -> _Block:
    number, send, receive, channel = (int(tb.attrib[key]) for key in ("id", "send", "recv", "chan"))
    return _Block(rank, number, send, receive, channel, [step.attrib for step in tb])


class _Machine:
    """All accelerators, running."""

    def __init__(self, collective: str, blocks: list[_Block], buffers: Buffers) -> None:
        self.collective, self.blocks, self.buffers = collective, blocks, buffers
        self.by_number = {(block.rank, block.number): block for block in blocks}
        self.sender = {(b.rank, b.send, b.channel): b for b in blocks if b.send >= 0}
        self.receiver = {(b.receive, b.rank, b.channel): b for b in blocks if b.receive >= 0}
        self.waiting: dict[tuple[int, int], list[_Block]] = defaultdict(list)

    def run(self) -> None:
        """Let whoever can do a step do it, until nobody can."""
        ready = deque(self.blocks)
        while ready:
            block = ready.popleft()
            while block.done < len(block.steps):
                moved = self._step(block)
                if not moved:
                    break
                for one in moved:
                    ready.extend(self.waiting.pop((one.rank, one.number), ()))
                    if one is not block:
                        ready.append(one)

    def _step(self, block: _Block) -> list[_Block]:
        """Do the next step of a thread block, with that of its peer; return those that went on."""
        step = block.steps[block.done]
        if not self._may(block):
            return []
        kind = step["type"]
        if kind in ("nop", "cpy"):  # a rank's own part is where it should be in our buffers
            block.done += 1
            return [block]
        key = (block.rank, block.send, block.channel)
        if kind in _RECEIVES:
            key = (block.receive, block.rank, block.channel)
        sender, receiver = self.sender.get(key), self.receiver.get(key)
        if sender is None or receiver is None:
            raise InvalidInput(
                f"msccl: {key[0]} sends {key[1]} on channel {key[2]} what nobody takes, or the reverse"
            )
        other = receiver if block is sender else sender
        if other.done == len(other.steps) or not self._may(other):
            return []
        sends, takes = sender.steps[sender.done], receiver.steps[receiver.done]
        if sends["type"] not in _SENDS or takes["type"] not in _RECEIVES:
            return []
        self._move(sender.rank, receiver.rank, sends, takes)
        sender.done += 1
        receiver.done += 1
        return [sender, receiver]

    def _may(self, block: _Block) -> bool:
        """Whether what the next step waits for is done; if not, the thread block hears of it then."""
        step = block.steps[block.done]
        writer = int(step["depid"])
        if writer < 0:
            return True
        other = self.by_number[block.rank, writer]
        if other.done > int(step["deps"]):
            return True
        self.waiting[other.rank, other.number].append(block)
        return False

    def _move(self, src: int, dst: int, sends: Mapping[str, str], takes: Mapping[str, str]) -> None:
        count = int(sends["cnt"])
        if count != int(takes["cnt"]):
            raise InvalidInput(f"msccl: {src} sends {dst} {count} chunks, which takes {takes['cnt']}")
        first = self._first_chunk(src, dst, sends, takes)
        value, held = self.buffers.value, self.buffers.held
        run = slice(first, first + count)
        if not held[src, run].all():
            raise InvalidInput(f"msccl: {src} sends {dst} chunk {first} before it has it")
        if takes["type"] == "rrc":
            value[dst, run] += value[src, run]
        else:
            value[dst, run] = value[src, run]
            held[dst, run] = True

    def _first_chunk(self, src: int, dst: int, sends: Mapping[str, str], takes: Mapping[str, str]) -> int:
        """Return the first chunk of the message that two offsets mean."""
        if self.collective == "all-to-all":
            if (int(sends["srcoff"]), int(takes["dstoff"])) != (dst, src):
                raise InvalidInput(f"msccl: {src} sends {dst} what is another's")
            return src * len(self.buffers.value) + dst
        buffer = BUFFERS[self.collective]
        if (sends["srcbuf"], takes["dstbuf"]) != (buffer, buffer) or sends["srcoff"] != takes["dstoff"]:
            raise InvalidInput(f"msccl: {src} sends {dst} from one place to another")
        return int(sends["srcoff"])
