"""How chunks pass along the rings: piece by piece without a barrier, or in rounds for backends that need batches."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from topoopt.plugins.testbeds.collectives.pytorch import dist, torch
from topoopt.plugins.testbeds.collectives.shares import RingShare, Tensor, bytes_of


def pass_in_pieces(shares: Sequence[RingShare], group: Any) -> None:
    """Send every piece on as soon as it is here, on all rings at once.

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
    """Do each round of all rings as one batch of sends and receives, as NCCL wants it."""
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
    """Return where each piece of a round lands, and what to wait for; what is added lands beside its place."""
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
