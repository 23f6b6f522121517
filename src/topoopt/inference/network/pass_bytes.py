"""What one pass of tokens through a model sends: AllReduces of tensor parallelism, stages, experts.

Closed forms of bytes, before anything is placed. A token's activations have 2 bytes a number, but for what goes to
experts in 8 bits: then a scale of 4 bytes for each 128 numbers goes with it (DeepSeek-V3, section 3.2.2).
"""

from dataclasses import dataclass

from topoopt.base.errors import check_known
from topoopt.inference.deployment import Parallelism
from topoopt.workloads.transformer import TransformerModel

ACTIVATION_BYTES = 2.0
DISPATCHES = {"fp8": 1 + 4 / 128, "bf16": 2.0}
"""Bytes a number on the way to experts; back it is always 2."""


@dataclass(frozen=True, slots=True)
class PassBytes:
    """Bytes of one token's pass through all layers.

    Attributes
    ----------
    tensor_reduces : int
        AllReduces of ``reduced_bytes`` over the ranks of tensor parallelism.
    stage_reduces : int
        The same over all accelerators of a stage, which experts have that are split over all of them.
    reduced_bytes : float
        A token's share of one of them.
    boundary_bytes : float
        From one stage to the next.
    dispatch_bytes, combine_bytes : float
        A copy on the way to one expert of one layer, and back.
    expert_layers : int
        Layers whose tokens go to experts elsewhere; 0 where nothing is dispatched.
    """

    tensor_reduces: int
    stage_reduces: int
    reduced_bytes: float
    boundary_bytes: float
    dispatch_bytes: float
    combine_bytes: float
    expert_layers: int


def pass_bytes(model: TransformerModel, parallelism: Parallelism, dispatch: str = "fp8") -> PassBytes:
    """Return the bytes of a token's pass.

    An attention part and a dense feed-forward part each end in an AllReduce over ``tensor`` ranks. A layer of experts
    that are spread (``expert`` > 1) has dispatch and combine in its place; without, its experts are split over all
    accelerators of a stage.

    Raises
    ------
    InvalidInput
        For an unknown dispatch.

    Examples
    --------
    Llama 3 70B in 8 ways: 160 AllReduces, of 1 MiB for 64 tokens.

    >>> from topoopt.workloads.transformer import find_transformer
    >>> one = pass_bytes(find_transformer("llama3-70b"), Parallelism(tensor=8))
    >>> one.tensor_reduces, 64 * one.reduced_bytes / 2**20
    (160, 1.0)
    """
    check_known("dispatch", dispatch, DISPATCHES)
    tensor, spread = parallelism.tensor, parallelism.expert > 1
    hidden, experts = model.hidden, model.experts
    width = hidden if experts is None else experts.width or hidden
    mixers = model.attention_layers + model.recurrent_layers
    split = 0 if spread or parallelism.stage_accelerators == 1 else model.moe_layers
    inside = split if parallelism.attention_data == 1 else 0
    return PassBytes(
        (mixers + model.dense_layers if tensor > 1 else 0) + inside,
        split - inside,
        ACTIVATION_BYTES * hidden,
        ACTIVATION_BYTES * hidden,
        DISPATCHES[dispatch] * width,
        ACTIVATION_BYTES * width,
        model.moe_layers if spread else 0,
    )
