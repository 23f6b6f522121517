"""A communication hook for DistributedDataParallel: gradients take the rings."""

from topoopt.plugins.testbeds.collectives.multi_ring import MultiRing
from topoopt.plugins.testbeds.collectives.pytorch import dist, torch


def multi_ring_hook(state: MultiRing, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients along rings, while the backward pass goes on.

    Parameters
    ----------
    state : MultiRing
        Over all ranks of the model's process group.
    bucket : torch.distributed.GradBucket

    Returns
    -------
    torch.futures.Future
        Of the bucket's buffer.

    Examples
    --------
    In a program that ``torchrun`` has started, with a model in ``DistributedDataParallel``::

        model.register_comm_hook(MultiRing(rings_of_plan("plan.json")), multi_ring_hook)
    """
    future: torch.futures.Future[torch.Tensor] = state.start(bucket.buffer(), average=True)
    return future
