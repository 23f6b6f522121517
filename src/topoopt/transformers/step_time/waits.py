"""Waits of a micro-batch: tokens on their way to experts, tensors in the host's memory, and pipeline bubbles.

Where optimizer state or activations are in the memory of the host, gradients go down and updated weights come up once
an iteration, before and after the host's step; the arithmetic of the host is not counted. Activations go down behind
the forward pass and come up behind the backward pass, and what does not hide is waited for.

A pipeline waits while it fills and drains. With forward and backward passes of F and B seconds in each of p stages,
and W of B for the gradients of weights, which no other stage waits for, equal stages are idle for so long:

========== ==========================
1F1B       (p - 1)·(F + B)
ZB-H1      (p - 1)·(F + B - 2W)
DualPipe   (p/2 - 1)·(F&B + B - 3W)
========== ==========================

Interleaving v chunks divides that of 1F1B by v. F&B is a forward and a backward pass of two micro-batches at once.

References
----------
.. [1] P. Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 2.2 and Table 2 (ZB-H1).
.. [2] DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 3.2.1 and Table 2.
.. [3] github.com/deepseek-ai/DualPipe: the order of the passes of each rank.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.transformers.communication.message import DISPATCH_BYTES, expected_places
from topoopt.transformers.configuration import STORED_PRECISIONS
from topoopt.transformers.configuration_table import Bools, ConfigurationTable
from topoopt.transformers.expert_loads import rank_shares
from topoopt.transformers.step_time.case import Case


@dataclass(frozen=True, slots=True)
class StagePasses:
    """Seconds of one micro-batch in the busiest stage, and in all others together, as columns.

    Attributes
    ----------
    paired_s, others_paired_s : array
        Forward and backward pass of two micro-batches at once.
    others_s : array
        The same one after the other, with all waits.
    others_backward_s : array
        The backward pass alone, with its waits.
    weights_s, others_weights_s : array
        The part of it that makes the gradients of weights.
    """

    paired_s: Floats
    weights_s: Floats
    others_s: Floats
    others_paired_s: Floats
    others_backward_s: Floats
    others_weights_s: Floats


GRADIENT_BYTES = 4.0
WEIGHT_BYTES = 2.0
COMBINE_BYTES = 2.0
"""What experts say is summed up in 16 bits (DeepSeek-V3, section 3.3.3)."""
_DISPATCH_BYTES = np.array([DISPATCH_BYTES.get(name, COMBINE_BYTES) for name in STORED_PRECISIONS])
COMMUNICATION_SHARE = 20 / 132
"""Of an accelerator's processors, what sending and receiving takes up: 20 SMs of an H800's 132 (DeepSeek-V3, section
3.2.2), which is Megatron Core's default, too."""


def exchanges_s(case: Case) -> Floats:
    """Return dispatch and combine of one pass through an average layer, if nothing hides them."""
    shapes, ep, links = case.shapes, case.ep, case.links
    if not shapes.any_experts:
        return np.zeros_like(case.tp)
    inside = links.members_inside(ep, case.etp)
    inner, outer = _links_s_per_byte(case, inside)
    s_per_byte = np.minimum(shapes.capacity, 1.0) * _together(case, inner, outer)
    token_bytes = shapes.expert_width * (_DISPATCH_BYTES[case.table.dispatch] + COMBINE_BYTES)
    wire_s = case.tokens / case.tp * token_bytes * s_per_byte
    both_s = 2 * links.exchange_start_s(ep, inside) + wire_s
    return np.where(ep > 1, shapes.moe_share * both_s, 0.0)


def forwarding_s_per_byte(case: Case) -> Floats:
    """Return what a byte of all copies takes beyond its time on the network at full rate."""
    inner, outer = _links_s_per_byte(case, case.links.members_inside(case.ep, case.etp))
    beyond = np.minimum(case.shapes.capacity, 1.0) * (
        _together(case, inner, outer) - case.calibration.exchange_efficiency * outer
    )
    return np.asarray(beyond / np.maximum(case.shapes.per_token, 1), np.float64)


def _links_s_per_byte(case: Case, inside: Floats) -> tuple[Floats, Floats]:
    """Return the time of a token's byte on the links inside servers, and on those between.

    Flat, a copy for each of its experts goes to any rank. Hierarchical, one goes to each server of its experts, and on
    to each rank there that has some.
    """
    shapes, ep = case.shapes, case.ep
    hierarchical = case.table.has_word("exchange", "hierarchical")
    inner, outer = shapes.per_token * (inside - 1) / ep, shapes.per_token * (ep - inside) / ep
    if np.any(hierarchical):
        servers = ep / inside
        inner = np.where(hierarchical, _places(case, ep) * (inside - 1) / inside, inner)
        outer = np.where(hierarchical, _places(case, servers) * (servers - 1) / servers, outer)
    if len(case.shares):  # the hottest rank gets most inside its server, and the hottest server from others
        inner, outer = (
            inner * _hottest(case, ep, hierarchical),
            outer * _hottest(case, ep / inside, hierarchical),
        )
    return inner * case.links.scale_up_s_per_byte, outer * case.links.exchange_s_per_byte


def _hottest(case: Case, parts: Floats, once: Bools) -> Floats:
    """Return the copies that the hottest of so many servers or ranks gets, over those of even loads.

    Where a token goes to each of them ``once``, what is hot gets few copies more.
    """
    shapes = case.shapes
    per_token, *limits = (
        float(one) for one in (shapes.per_token, shapes.route_groups, shapes.groups_per_token)
    )
    experts = case.shares.shape[1]

    def copies(share: float, dedup: bool) -> float:
        return share * expected_places(experts, per_token, 1 / share, *limits) if dedup else share

    def factor(count: int, dedup: bool) -> float:
        if count < 2 or experts % count:
            return 1.0
        most = rank_shares(case.shares, count).max(axis=-1).tolist()
        return float(np.mean([copies(share, dedup) for share in most])) / copies(1 / count, dedup)

    whole, kinds = (
        np.rint(np.broadcast_to(parts, case.ep.shape)).astype(np.int64),
        np.broadcast_to(once, case.ep.shape),
    )
    rows = list(zip(whole.tolist(), kinds.tolist(), strict=True))
    known = {row: factor(*row) for row in set(rows)}
    return np.array([known[row] for row in rows])


def _together(case: Case, inner: Floats, outer: Floats) -> Floats:
    """Return the time of both kinds of links: the longer one flat, somewhat more where tokens are forwarded.

    Forwarding goes on while others arrive, but both compete for the processors that do it. With the 3-norm DeepEP's
    published bandwidths come out within 4 % on 32 and 64 ranks, 13 % too fast on 8 and 27 % on 16.
    """
    longer = np.maximum(np.maximum(inner, outer), 1e-30)
    ratio = np.minimum(inner, outer) / longer
    hierarchical = case.table.has_word("exchange", "hierarchical")
    return np.asarray(longer * np.cbrt(1 + hierarchical * ratio * ratio * ratio), np.float64)


def _places(case: Case, ranks: Floats) -> Floats:
    """Return over how many of so many servers or ranks, that share the experts, those of a token are spread."""
    shapes = case.shapes
    routing = shapes.experts, shapes.per_token, shapes.route_groups, shapes.groups_per_token
    if np.ndim(shapes.experts):
        rows = zip(*(column.tolist() for column in routing), ranks.tolist(), strict=True)
        return np.array([expected_places(n, k, places, groups, few) for n, k, groups, few, places in rows])
    count, per_token, groups, few = (float(column) for column in routing)
    whole = np.rint(ranks).astype(np.int64)
    most = int(whole.max(initial=1)) + 1
    return np.array([expected_places(count, per_token, float(one), groups, few) for one in range(most)])[
        whole
    ]


def hidden_exchanges_s(alone_s: Floats, computing_s: Floats, dedicated: Bools) -> Floats:
    """Return what overlapped all-to-alls add to the computation of another micro-batch that they run beside.

    What goes on takes processors away, so computing goes on slower for as long, or, where processors are dedicated to
    it as in DualPipe (DeepSeek-V3, section 3.2.1), all of the time. What is longer than the computation is waited for.
    """
    always_s = COMMUNICATION_SHARE / (1 - COMMUNICATION_SHARE) * computing_s * (alone_s > 0)
    slower_s = np.where(dedicated, always_s, COMMUNICATION_SHARE * alone_s)
    return np.maximum(alone_s - computing_s, slower_s)


def overlaps(case: Case) -> Bools:
    """Return which rows overlap all-to-alls: those that ask for it, and DualPipe, which always does."""
    table = case.table
    return np.asarray((table.overlap_experts > 0) | table.has_word("schedule", "dualpipe"))


def offloaded_step_s(case: Case, kept: Floats) -> Floats:
    """Return what the transfers of gradients and weights add to a step.

    Parameters
    ----------
    kept : array
        Parameters whose optimizer state an accelerator has.

    Raises
    ------
    InvalidInput
        If the link to the host is not known.
    """
    share = case.table.offload_optimizer
    if not np.any(share):
        return np.zeros(())
    return np.asarray(share * kept * (GRADIENT_BYTES + WEIGHT_BYTES) / _rate(case, "optimizer"), np.float64)


def offloaded_layer_s(case: Case, forward_s: Floats, backward_s: Floats) -> Floats:
    """Return what a layer's passes of one micro-batch wait for activations on their way.

    Parameters
    ----------
    forward_s, backward_s : array
        Of a layer, with what is computed again.

    Raises
    ------
    InvalidInput
        If the link to the host is not known.
    """
    share = case.table.offload_activations
    if not np.any(share):
        return np.zeros(())
    shapes = case.shapes
    inner = shapes.ffn * shapes.dense_share
    inner = inner + shapes.moe_share * (shapes.per_token * shapes.expert_ffn + shapes.shared_ffn)
    heads = (shapes.heads + np.maximum(shapes.kv_heads, case.tp)) * (shapes.head_dim + shapes.value_dim)
    split = (heads + (shapes.into + 1) * inner) / case.tp
    numbers = np.where(case.table.recomputes("full"), 1.0, 4.0) * shapes.hidden / case.local_tp
    kept_bytes = 2 * case.tokens * (numbers + np.where(case.table.recomputes("full"), 0.0, split))
    one_way = share * kept_bytes / _rate(case, "activations")
    return np.maximum(one_way - forward_s, 0.0) + np.maximum(one_way - backward_s, 0.0)


def _rate(case: Case, what: str) -> Floats:
    rate = case.machine.host_bytes_per_s
    if np.any(np.isnan(rate)):
        raise InvalidInput(
            f"offload_{what}: the catalogue has no rate of this accelerator's link to its host; leave it at 0"
        )
    return rate


def split_bubble_s(table: ConfigurationTable, passes: StagePasses, hop_s: Floats, usual_s: Floats) -> Floats:
    """Return the idle time of the busiest stage, ``usual_s`` by 1F1B.

    Where it has more to do than the others it is idle for less. ZB-H1: as the last stage, it begins when the first
    micro-batch has come through the others, and what it waits for at the end it fills with its own gradients of
    weights. DualPipe: as the first or the last stage, which are alike, it fills its gaps with what it has more to do,
    twice for each other stage, but for those in which inputs are waited for (so the order of [3]_ comes out if it is
    played, within a twentieth of the formula above where W is as long as F, and an eighth where it is shorter).

    Parameters
    ----------
    hop_s : array
        Of what one micro-batch sends from stage to stage and back.
    """
    others, pairs = np.maximum(table.pp - 1, 1), np.maximum(table.pp / 2 - 1, 0)
    inputs_s = passes.others_backward_s - passes.others_weights_s
    later_s = passes.weights_s * table.pp - passes.others_weights_s / others
    zero = passes.others_s - passes.others_backward_s + np.maximum(inputs_s - later_s, 0.0) + others * hop_s
    gap_s = (inputs_s - passes.others_weights_s) / others
    more_s = (others * passes.paired_s - passes.others_paired_s) / np.maximum(table.pp - 2, 1)
    from_both = (passes.others_paired_s - passes.others_weights_s) / others + gap_s
    filled = pairs * from_both - 2 * others * np.maximum(more_s, 0.0)
    dual = np.maximum(filled, pairs * np.maximum(gap_s, 0.0)) + pairs * hop_s
    kinds = [table.has_word("schedule", "zero-bubble"), table.has_word("schedule", "dualpipe")]
    return np.asarray(np.select(kinds, [zero, dual], usual_s), np.float64)


def hidden_transfers(table: ConfigurationTable) -> Floats:
    """Return the share of the transfers between stages that hide behind passes while the pipeline is full.

    With ZB-H1 the gradients of weights that come between passes give them time. DualPipe's hide where two micro-batches
    are at work.
    """
    if not np.any(table.schedule):
        return np.zeros(())
    dual = table.has_word("schedule", "dualpipe") * paired_share(table)
    return np.where(table.has_word("schedule", "zero-bubble"), 1.0, dual)


def paired_share(table: ConfigurationTable) -> Floats:
    """Return the share of the micro-batches whose forward pass goes on beside a backward pass of another one.

    While a pipeline fills there is none to go beside. Stage i of interleaved 1F1B begins with 2(p - i - 1) + (v - 1)p
    chunks and one more; rank i of DualPipe has 3p/2 - 1 - i forward passes alone, of which those of the last rank of
    a half are fewest (its code, steps 1 to 3). Both on average over the ranks; without stages one micro-batch is alone.
    """
    batches = np.maximum(table.global_batch / (table.dp * table.micro_batch), 1.0)
    alone = np.where(table.pp > 1, table.pp - 1 + (table.vpp - 1) * table.pp + 1, 1) / table.vpp
    alone = np.where(table.has_word("schedule", "dualpipe"), 1.25 * table.pp - 0.5, alone)
    return np.asarray(np.maximum(1 - alone / batches, 0.0), np.float64)
