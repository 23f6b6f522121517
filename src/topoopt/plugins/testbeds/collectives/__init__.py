"""Collectives over a plan's links, for any program of torch.distributed; needs PyTorch.

On a cluster of one's own::

    from topoopt.plugins.testbeds.collectives import MultiRing, multi_ring_hook, rings_of_strides

    rings = rings_of_strides(range(dist.get_world_size()), (1, 5, 7, 11))
    model.register_comm_hook(MultiRing(rings), multi_ring_hook)
"""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily
from topoopt.plugins.testbeds.collectives import (
    pytorch as pytorch,
)  # first of all: without it there is one line, and no more

if TYPE_CHECKING:
    from topoopt.plugins.testbeds.collectives.rings import rings_of_plan as rings_of_plan
    from topoopt.plugins.testbeds.collectives.rings import rings_of_strides as rings_of_strides
    from topoopt.plugins.testbeds.collectives.torch_collectives import MultiRing as MultiRing
    from topoopt.plugins.testbeds.collectives.torch_collectives import all_to_all as all_to_all
    from topoopt.plugins.testbeds.collectives.torch_collectives import (
        multi_ring_all_reduce as multi_ring_all_reduce,
    )
    from topoopt.plugins.testbeds.collectives.torch_collectives import multi_ring_hook as multi_ring_hook

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
