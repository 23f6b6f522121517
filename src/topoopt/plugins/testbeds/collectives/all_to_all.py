"""All-to-all by point-to-point messages, which go the way that routes lead them; sizes may differ."""

from collections.abc import Sequence
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.plugins.testbeds.collectives.pytorch import dist
from topoopt.plugins.testbeds.collectives.shares import Tensor, bytes_of


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
        Contiguous, of any shape and kind of numbers; what one rank sends another expects. Empty ones are not sent.
    ranks : sequence of int, optional
        Global ranks that take part, this one included; all if not given.
    tag : int
        Another one for each exchange that is on its way at the same time.

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
