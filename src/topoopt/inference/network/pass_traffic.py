"""What one pass of tokens through a model sends: AllReduces of tensor parallelism, stages, experts.

Closed forms of bytes, before anything is placed. A token's activations have 2 bytes a number, but for what goes to
experts in 8 bits: then a scale of 4 bytes for each 128 numbers goes with it (DeepSeek-V3, section 3.2.2).

How long tokens of a decode step take to their experts or back: a base, and bytes on links inside and between.

The three numbers are fitted to DeepEP's published kernels of low latency, ``inference/data/expert_exchanges.csv``, by
least squares of relative errors: 6 % off on average. Every copy goes to its rank by itself; ranks of one server reach
each other over its own links, others over the interface of each.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from topoopt.base.errors import check_known
from topoopt.inference.deployment import Parallelism
from topoopt.schema.files import packaged_rows
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


INSIDE_BYTES_PER_S = 160e9
"""What DeepEP reaches of an H800's links inside a server, as its table says."""


@dataclass(frozen=True, slots=True)
class ExchangeLaw:
    """Seconds of a dispatch or a combine: ``base_s + slowness * network_s + inside_slowness * inside_s``.

    Attributes
    ----------
    base_s : float
        Of a kernel and one trip, without bytes.
    slowness, inside_slowness : float
        Times what the bytes between servers, and inside, take at nominal bandwidth.
    error : float
        Mean relative error over the rows that it was fitted to.
    """

    base_s: float
    slowness: float
    inside_slowness: float
    error: float


@cache
def exchange_law() -> ExchangeLaw:
    """Return the law.

    Examples
    --------
    >>> law = exchange_law()
    >>> round(law.base_s * 1e6), round(law.slowness, 2), round(law.error, 3)
    (32, 1.04, 0.061)
    """
    terms: list[list[float]] = []
    for row in packaged_rows("inference", "expert_exchanges"):
        copies = int(row["tokens"]) * int(row["experts_per_token"]) * int(row["hidden"])
        per_server = int(row["ranks_per_server"])
        servers = int(row["ranks"]) / per_server
        for number_bytes, seconds in (
            (DISPATCHES["fp8"], float(row["dispatch_s"])),
            (ACTIVATION_BYTES, float(row["combine_s"])),
        ):
            sent = copies * number_bytes
            outside_s = sent * (1 - 1 / servers) / float(row["nic_bytes_per_s"])
            inside_s = sent / servers * (1 - 1 / per_server) / INSIDE_BYTES_PER_S
            terms.append([1 / seconds, outside_s / seconds, inside_s / seconds])
    columns = np.array(terms)
    found = np.linalg.lstsq(columns, np.ones(len(columns)), rcond=None)[0]
    off = columns @ found - 1
    base_s, slowness, inside_slowness = found.tolist()
    return ExchangeLaw(base_s, slowness, inside_slowness, float(np.abs(off).mean()))
