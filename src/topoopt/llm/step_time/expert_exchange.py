"""How long tokens take to their experts and back: flat or hierarchical, in 16 bits or in 8, hidden or not."""

import numpy as np

from topoopt.llm.columns import Bools, Floats
from topoopt.llm.experts.spread import expected_places
from topoopt.llm.step_time.case import Case

DISPATCH_BYTES = np.array([2.0, 4.0, 2.0, 1 + 4 / 128])
"""Of an element of a token on its way to experts, by index into STORED_PRECISIONS; in 8 bits with a scale of 4 bytes for
each 128 (DeepSeek-V3, section 3.3)."""

COMBINE_BYTES = 2.0
"""What experts say is summed up in 16 bits (DeepSeek-V3, section 3.3.3)."""

COMMUNICATION_SHARE = 20 / 132
"""Of an accelerator's processors, what sends and receives takes up: 20 SMs of an H800's 132 (DeepSeek-V3, section 3.2.2),
which is Megatron Core's default, too."""


def exchanges_s(case: Case) -> Floats:
    """Return dispatch and combine of one pass through an average layer, if nothing hides them."""
    shapes, ep, links = case.shapes, case.ep, case.links
    if not shapes.any_experts:
        return np.zeros_like(case.tp)
    inside = links.members_inside(ep, case.etp)
    hierarchical = case.table.has_word("exchange", "hierarchical")
    taken = np.minimum(shapes.capacity, 1.0)
    if not np.any(hierarchical):
        s_per_byte = taken * shapes.per_token * _flat(case, inside)
    elif np.all(hierarchical):
        s_per_byte = taken * _hierarchical(case, inside)
    else:
        flat = shapes.per_token * _flat(case, inside)
        s_per_byte = taken * np.where(hierarchical, _hierarchical(case, inside), flat)
    token_bytes = shapes.hidden * (DISPATCH_BYTES[case.table.dispatch] + COMBINE_BYTES)
    wire_s = case.tokens / case.tp * token_bytes * case.hottest * s_per_byte
    both_s = 2 * links.exchange_start_s(ep, inside) + wire_s
    return np.where(ep > 1, shapes.moe_share * both_s, 0.0)


def _flat(case: Case, inside: Floats) -> Floats:
    """Return the time of a byte of one copy, which goes to any rank; links inside and between work at once."""
    inner = (inside - 1) / case.ep * case.links.scale_up_s_per_byte
    outer = (case.ep - inside) / case.ep * case.links.network_s_per_byte
    return np.maximum(inner, outer)


def _hierarchical(case: Case, inside: Floats) -> Floats:
    """Return the time of a byte of a token that goes to each server of its experts once, and is forwarded there.

    Every rank gets a token once, however many of its experts want it. Forwarding goes on while others arrive, but
    both compete for the processors that do it, so that the two take somewhat longer than the longer of them: with the
    3-norm DeepEP's published bandwidths on 32 and 64 ranks come out within 7 %, on 8 and 16 within 30 %.
    """
    servers = case.ep / inside
    outer = _places(case, servers) * (servers - 1) / servers * case.links.network_s_per_byte
    inner = _places(case, case.ep) * (inside - 1) / inside * case.links.scale_up_s_per_byte
    longer = np.maximum(np.maximum(inner, outer), 1e-30)
    ratio = np.minimum(inner, outer) / longer
    return np.asarray(longer * np.cbrt(1 + ratio * ratio * ratio), np.float64)


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


def hidden_exchanges_s(alone_s: Floats, computing_s: Floats) -> Floats:
    """Return what overlapped all-to-alls add to the computation of another micro-batch that they run beside.

    What goes on takes processors away, so computing goes on slower for as long; what is longer than the computation is
    waited for.
    """
    return np.maximum(alone_s - computing_s, COMMUNICATION_SHARE * alone_s)


def overlaps(case: Case) -> Bools:
    """Return which rows overlap all-to-alls: those that ask for it, and DualPipe, which always does."""
    table = case.table
    return np.asarray((table.overlap_experts > 0) | table.has_word("schedule", "dualpipe"))
