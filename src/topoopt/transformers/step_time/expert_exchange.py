"""Time of expert parallelism's all-to-alls: dispatch and combine, flat or hierarchical, and their overlapped part."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.communication.message import DISPATCH_BYTES, expected_places
from topoopt.transformers.configuration import STORED_PRECISIONS
from topoopt.transformers.configuration_table import Bools
from topoopt.transformers.expert_loads import rank_shares
from topoopt.transformers.step_time.case import Case

COMBINE_BYTES = 2.0
"""Expert outputs are combined in 16 bits (DeepSeek-V3, section 3.3.3)."""
_DISPATCH_BYTES = np.array([DISPATCH_BYTES.get(name, COMBINE_BYTES) for name in STORED_PRECISIONS])
COMMUNICATION_SHARE = 20 / 132
"""Share of an accelerator's SMs that communication kernels occupy: 20 of an H800's 132 (DeepSeek-V3, section
3.2.2), which is Megatron Core's default, too."""


def exchanges_s(case: Case) -> Floats:
    """Return dispatch and combine of one pass through an average layer, if nothing hides them."""
    shapes, ep, links = case.shapes, case.ep, case.links
    if not shapes.any_experts:
        return np.zeros_like(case.tp)
    inside = links.members_inside(ep, case.etp)
    inner, outer = _links_s_per_byte(case)
    s_per_byte = np.minimum(shapes.capacity, 1.0) * _together(case, inner, outer)
    token_bytes = shapes.expert_width * (_DISPATCH_BYTES[case.table.dispatch] + COMBINE_BYTES)
    wire_s = case.tokens / case.tp * token_bytes * s_per_byte
    both_s = 2 * links.exchange_start_s(ep, inside) + wire_s
    return np.where(ep > 1, shapes.moe_share * both_s, 0.0)


def forwarding_s_per_byte(case: Case) -> Floats:
    """Return the time per byte of all copies beyond their time on the network at full rate."""
    inner, outer = _links_s_per_byte(case)
    beyond = np.minimum(case.shapes.capacity, 1.0) * (
        _together(case, inner, outer) - case.calibration.exchange_efficiency * outer
    )
    return np.asarray(beyond / np.maximum(case.shapes.per_token, 1), np.float64)


def _links_s_per_byte(case: Case) -> tuple[Floats, Floats]:
    """Return the time of a token's byte on the links inside servers, and on those between.

    Flat, a copy for each of its experts goes to any rank. Hierarchical, one goes to each server of its experts, and on
    to each rank there that has some.
    """
    shapes, ep = case.shapes, case.ep
    hierarchical = case.table.has_word("exchange", "hierarchical")
    inside, fewest = case.links.spread(ep, case.etp)
    inner, outer = shapes.per_token * (inside - 1) / ep, shapes.per_token * (ep - fewest) / ep
    if np.any(hierarchical):
        servers = ep / inside
        inner = np.where(hierarchical, _places(case, ep) * (inside - 1) / inside, inner)
        outer = np.where(hierarchical, _places(case, servers) * (ep / fewest - 1) / (ep / fewest), outer)
    if len(case.shares):  # the hottest rank gets most inside its server, and the hottest server from others
        inner, outer = (
            inner * _hottest(case, ep, hierarchical),
            outer * _hottest(case, ep / inside, hierarchical),
        )
    return inner * case.links.scale_up_s_per_byte, outer * case.links.exchange_s_per_byte


def _hottest(case: Case, parts: Floats, once: Bools) -> Floats:
    """Return the copies of the hottest server or rank, relative to even loads.

    Where a token goes to each of them ``once``, hot ones get only a few more copies.
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

    Forwarding overlaps arrivals, but both compete for the same processors. With the 3-norm DeepEP's published
    bandwidths come out within 4 % on 32 and 64 ranks, 13 % too fast on 8 and 27 % on 16.
    """
    longer = np.maximum(np.maximum(inner, outer), 1e-30)
    ratio = np.minimum(inner, outer) / longer
    hierarchical = case.table.has_word("exchange", "hierarchical")
    return np.asarray(longer * np.cbrt(1 + hierarchical * ratio * ratio * ratio), np.float64)


def _places(case: Case, ranks: Floats) -> Floats:
    """Return over how many of the servers or ranks that share the experts a token's experts are spread."""
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
    """Return the time that overlapped all-to-alls add to the computation of the micro-batch beside them.

    Communication kernels occupy SMs, so computation is slower while they run, or, where SMs are dedicated to them as in
    DualPipe (DeepSeek-V3, section 3.2.1), all of the time. All-to-alls that outlast the computation are exposed.
    """
    always_s = COMMUNICATION_SHARE / (1 - COMMUNICATION_SHARE) * computing_s * (alone_s > 0)
    slower_s = np.where(dedicated, always_s, COMMUNICATION_SHARE * alone_s)
    return np.maximum(alone_s - computing_s, slower_s)


def overlaps(case: Case) -> Bools:
    """Return which rows overlap all-to-alls: on request, and always with DualPipe."""
    table = case.table
    return np.asarray((table.overlap_experts > 0) | table.has_word("schedule", "dualpipe"))
