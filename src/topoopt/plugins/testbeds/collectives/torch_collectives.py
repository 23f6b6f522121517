"""Collectives of PyTorch programs: a DistributedDataParallel hook that takes the rings, and an all-to-all."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.plugins.testbeds.collectives.pytorch import dist, torch
from topoopt.plugins.testbeds.collectives.rings import (
    COLLECTIVES,
    MOST_RINGS,
    RingShare,
    Tensor,
    bytes_of,
    checked_rings,
    ring_shares,
)


def pass_in_pieces(shares: Sequence[RingShare], group: Any) -> None:
    """Forward every piece on arrival, on all rings at once.

    Receives of the next round are posted before pieces of this one are waited for, so that a link has something to
    carry while the piece before it is added.
    """
    rounds = shares[0].rounds
    sends = [_send(piece, share, group) for share in shares for piece in share.sent(rounds[0])]
    coming = [_receive(share, rounds[0], group) for share in shares]
    for now in rounds:
        arriving = coming
        if now + 1 in rounds:
            coming = [_receive(share, now + 1, group) for share in shares]
        for number in range(len(shares[0].chunks[0])):
            for share, pieces in zip(shares, arriving, strict=True):
                _take(share, now, number, *pieces[number])
                if now + 1 in rounds:
                    sends.append(_send(share.received(now)[number], share, group))
    for work in sends:
        if work is not None:
            work.wait()


def pass_in_rounds(shares: Sequence[RingShare], group: Any) -> None:
    """Run each round of all rings as one batch of sends and receives, as NCCL requires."""
    for now in shares[0].rounds:
        operations, landings = [], []
        for share in shares:
            for number, (out, piece) in enumerate(zip(share.sent(now), share.received(now), strict=True)):
                landing = torch.empty_like(piece) if share.reduces(now) else piece
                landings.append((share, number, landing))
                if out.numel():
                    operations.append(dist.P2POp(dist.isend, bytes_of(out), share.after, group, share.tag))
                if piece.numel():
                    operations.append(
                        dist.P2POp(dist.irecv, bytes_of(landing), share.before, group, share.tag)
                    )
        for work in dist.batch_isend_irecv(operations) if operations else ():
            work.wait()
        for share, number, landing in landings:
            _take(share, now, number, landing, None)


PASSING: Mapping[str, Callable[[Sequence[RingShare], Any], None]] = {
    "pieces": pass_in_pieces,
    "rounds": pass_in_rounds,
}


def _send(piece: Tensor, share: RingShare, group: Any) -> Any:
    return dist.isend(bytes_of(piece), share.after, group, share.tag) if piece.numel() else None


def _receive(share: RingShare, now: int, group: Any) -> list[tuple[Tensor, Any]]:
    """Start receiving the pieces of a round; return their destinations and handles. Summands get separate buffers."""
    landed = []
    for piece in share.received(now):
        landing = torch.empty_like(piece) if share.reduces(now) else piece
        work = dist.irecv(bytes_of(landing), share.before, group, share.tag) if piece.numel() else None
        landed.append((landing, work))
    return landed


def _take(share: RingShare, now: int, number: int, landing: Tensor, work: Any) -> None:
    if work is not None:
        work.wait()
    if share.reduces(now) and landing.numel():
        share.received(now)[number].add_(landing)


_CHANNELS, _CALLS = 1 << 13, 1 << 12  # with 64 rings they fill the 31 bits of a tag
SMALLEST_PIECE_BYTES = 32 << 10
"""Least size of a piece: a message costs as much as some 10 kB on a fast link."""
_ON_A_STREAM = "nccl"
"""A backend whose calls wait on the device, in order, and not in the caller's thread."""


class MultiRing:
    """A group's rings, ready for AllReduces; several may be in progress at the same time.

    Every member starts the same AllReduces in the same order. Sums are made along each ring, and every member gets the
    same bits. The ring of this rank's neighbors is the order given, not that of a process group, which sorts ranks.

    Parameters
    ----------
    rings : sequence of sequences of global ranks
        As returned by :func:`rings_of_strides` or :func:`rings_of_plan`. All have the same ranks, this one included.
    group : process group, optional
        Group of the messages; it may have more ranks than the rings. The default group if not given.
    pieces : int
        Most pieces of a message, so that one is on the link while another is added; none is smaller than
        :data:`SMALLEST_PIECE_BYTES`.
    overlap : int
        AllReduces that make progress at the same time; further ones wait for their turn.
    channel : int, optional
        Another number for each of several MultiRings that are at work at the same time and have a pair of ranks in
        common; if not given, one that follows from the rings.
    passing : str, optional
        ``pieces`` or ``rounds``, see ``rings.py``; if not given, rounds on NCCL.

    Raises
    ------
    InvalidInput
        If the rings are not of the same ranks, or this rank is not among them.

    Notes
    -----
    Tested on gloo. On NCCL the batches of a round are those of its point-to-point calls, on the caller's stream; that
    has not been run.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section 4.3: load-balanced AllReduce over permuted rings.
    """

    def __init__(
        self,
        rings: Sequence[Sequence[int]],
        group: Any = None,
        *,
        pieces: int = 2,
        overlap: int = 2,
        channel: int | None = None,
        passing: str | None = None,
    ) -> None:
        for name, value in (("pieces", pieces), ("overlap", overlap)):
            if value < 1:
                raise InvalidInput(f"{name}: expected an integer >= 1, got {value}")
        self.rings = checked_rings(rings)
        self.group, self.pieces = group, pieces
        self.rank = dist.get_rank()
        if self.rank not in self.rings[0]:
            raise InvalidInput(f"rings: rank {self.rank} is not among {sorted(self.rings[0])}")
        self._on_a_stream = dist.get_backend(group) == _ON_A_STREAM
        self.passing = passing or ("rounds" if self._on_a_stream else "pieces")
        check_known("passing", self.passing, PASSING)
        self._channel = (zlib.crc32(repr(self.rings).encode()) if channel is None else channel) % _CHANNELS
        self._calls, self._lock = 0, Lock()
        self._threads = ThreadPoolExecutor(overlap, thread_name_prefix="multi-ring")

    def all_reduce(self, tensor: Tensor, average: bool = False) -> Tensor:
        """Replace a tensor by the sum over all members, and return it.

        Parameters
        ----------
        tensor : Tensor
            Tensor of any shape and number type; equally many elements everywhere.
        average : bool
            Divide the sum by the number of members; for floating and complex numbers.

        Raises
        ------
        InvalidInput
            If integers are to be averaged.
        """
        self._check(tensor, average)
        self._reduce(tensor, average, self._next_tag())
        return tensor

    def start(self, tensor: Tensor, average: bool = False, collective: str = "allreduce") -> Any:
        """Begin an AllReduce and return a ``torch.futures.Future`` of the tensor, as hooks of PyTorch require.

        Parameters
        ----------
        collective : str
            ``reduce-scatter`` or ``all-gather`` does half of it: see ``COLLECTIVES`` of ``rings.py``.
        """
        check_known("collective", collective, COLLECTIVES)
        self._check(tensor, average)
        tag = self._next_tag()
        if self._on_a_stream:
            future = torch.futures.Future(devices=[tensor.device])
            self._reduce(tensor, average, tag, collective)
            future.set_result(tensor)
            return future
        future = torch.futures.Future()
        self._threads.submit(self._finish, future, tensor, average, tag, collective)
        return future

    def close(self) -> None:
        """Wait for outstanding messages, and end the threads."""
        self._threads.shutdown()

    def _next_tag(self) -> int:
        with self._lock:
            number = self._calls
            self._calls = (number + 1) % _CALLS
        return (self._channel * _CALLS + number) * MOST_RINGS

    def _check(self, tensor: Tensor, average: bool) -> None:
        if average and not (tensor.is_floating_point() or tensor.is_complex()):
            raise InvalidInput(f"average: expected floating or complex numbers, got {tensor.dtype}")

    def _finish(self, future: Any, tensor: Tensor, average: bool, tag: int, collective: str) -> None:
        try:
            self._reduce(tensor, average, tag, collective)
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(tensor)

    def _reduce(self, tensor: Tensor, average: bool, tag: int, collective: str = "allreduce") -> None:
        with torch.no_grad():
            flat = tensor.detach().contiguous().view(-1)
            if len(self.rings[0]) > 1:
                message_bytes = flat.numel() * flat.element_size() // (len(self.rings) * len(self.rings[0]))
                pieces = max(1, min(self.pieces, message_bytes // SMALLEST_PIECE_BYTES))
                shares = ring_shares(flat, self.rings, self.rank, pieces, tag, collective)
                PASSING[self.passing](shares, self.group)
            if average:
                flat /= len(self.rings[0])
            if flat.data_ptr() != tensor.data_ptr():  # it was no single block of memory
                tensor.copy_(flat.view(tensor.shape))


def multi_ring_hook(state: MultiRing, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients along rings, during the backward pass.

    Parameters
    ----------
    state : MultiRing
        Rings over all ranks of the model's process group.
    bucket : torch.distributed.GradBucket

    Returns
    -------
    torch.futures.Future
        Future of the bucket's buffer.

    Examples
    --------
    In a program that ``torchrun`` has started, with a model in ``DistributedDataParallel``::

        model.register_comm_hook(MultiRing(rings_of_plan("plan.json")), multi_ring_hook)
    """
    future: torch.futures.Future[torch.Tensor] = state.start(bucket.buffer(), average=True)
    return future


def multi_ring_all_reduce(
    tensor: Tensor, rings: Sequence[Sequence[int]], group: Any = None, average: bool = False
) -> Tensor:
    """Replace a tensor by the sum over all members of some rings, once; see :class:`MultiRing`."""
    ring = MultiRing(rings, group)
    try:
        return ring.all_reduce(tensor, average)
    finally:
        ring.close()


def all_to_all(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    ranks: Sequence[int] | None = None,
    group: Any = None,
    tag: int = 0,
) -> None:
    """Send ``inputs[i]`` to the i-th rank, and receive ``outputs[i]`` from it.

    Every rank begins with the one behind it, so that not all send to the same one first.

    Parameters
    ----------
    outputs, inputs : sequences of Tensor, one for each rank
        Contiguous, of any shape and number type; sizes must match between ranks. Empty ones are not sent.
    ranks : sequence of int, optional
        Global ranks that take part, this one included; all if not given.
    tag : int
        One for each concurrent exchange.

    Raises
    ------
    InvalidInput
        If there is not one tensor for each rank, one is not contiguous, or this rank does not take part.
    """
    members = list(range(dist.get_world_size(group))) if ranks is None else list(ranks)
    rank = dist.get_rank()
    if rank not in members:
        raise InvalidInput(f"ranks: rank {rank} is not among {members}")
    for name, tensors in (("outputs", outputs), ("inputs", inputs)):
        if len(tensors) != len(members):
            raise InvalidInput(
                f"{name}: expected a tensor for each of {len(members)} ranks, got {len(tensors)}"
            )
        if not all(tensor.is_contiguous() for tensor in tensors):
            raise InvalidInput(f"{name}: expected contiguous tensors")
    place, size = members.index(rank), len(members)
    outputs[place].copy_(inputs[place])
    operations = []
    for step in range(1, size):
        source, target = (place - step) % size, (place + step) % size
        if outputs[source].numel():
            landing = bytes_of(outputs[source].view(-1))
            operations.append(dist.P2POp(dist.irecv, landing, members[source], group, tag))
        if inputs[target].numel():
            operations.append(
                dist.P2POp(dist.isend, bytes_of(inputs[target].view(-1)), members[target], group, tag)
            )
    for work in dist.batch_isend_irecv(operations) if operations else ():
        work.wait()
