"""What a split puts on the links: seconds of each edge's exchange and of each operator's AllReduces.

``arrays.py`` describes the arrays. An edge and an operator have two slots: what a proposal changes goes into the
other one, so that what was is still there if the proposal is refused.
"""

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel import compiled, inlined
from topoopt.search.arrays import WIDTH, Problem, State


@inlined
def load_edge(p: Problem, state: State, edge: int) -> None:
    """Fill the edge's other slot from the overlaps of its parts and make it the current one."""
    config, slots, edge_load, overhead_s = state.config, state.slot, state.edge_load, state.edge_overhead_s
    n, divisors, hop_s, fan_hops, fan_out = p.servers, p.divisors, p.hop_overhead_s, p.fan_hops, p.fan_out
    a, b = p.edge_ends[edge, 0], p.edge_ends[edge, 1]
    width, samples = p.operator[a, WIDTH], p.global_batch // n
    slot = 1 - slots[0, edge]
    slots[0, edge] = slot
    load = edge_load[slot, edge]
    for link in range(load.shape[1]):
        load[0, link] = 0.0
        load[1, link] = 0.0
    replicas = divisors[config[b, 0]] == n and divisors[config[b, 1]] == 1
    if divisors[config[a, 0]] == 1 and replicas and fan_out.shape[0] == n and n > 1:
        hops = _load_fan_out(fan_out, fan_hops, config, divisors, n, samples, width, a, load)
        overhead_s[slot, edge] = hops * hop_s
    else:
        hops = _load_overlaps(p, config, a, b, load)
        overhead_s[slot, edge] = hops * hop_s if hops >= 0 else -1.0


@inlined
def _load_fan_out(
    fan_out: Floats,
    fan_hops: Floats,
    config: Ints,
    divisors: Ints,
    servers: int,
    samples: int,
    width: int,
    a: int,
    load: Floats,
) -> float:
    """Load the exchange of a placed table with replicas everywhere: the common case, and the dearest."""
    parts, dim, start = divisors[config[a, 1]], config[a, 2], config[a, 3]
    ranges = parts if dim == 1 or dim == 4 else 1
    most_hops = 0.0
    for c in range(parts):
        low = c * width // ranges if ranges > 1 else 0
        high = (c + 1) * width // ranges if ranges > 1 else width
        size_bytes = float(samples) * float(high - low)
        src = start + c * (servers // parts)
        most_hops = max(most_hops, fan_hops[src])
        for link in range(load.shape[1]):
            load[0, link] += size_bytes * fan_out[src, 0, link]
            load[1, link] += size_bytes * fan_out[src, 1, link]
    return most_hops


@compiled
def _load_overlaps(p: Problem, config: Ints, a: int, b: int, load: Floats) -> float:
    """Load the exchange of any two splits, overlap by overlap; return the most hops, -1 where nothing moves."""
    n, batch, divisors, width = p.servers, p.global_batch, p.divisors, p.operator[a, WIDTH]
    row_hops, row_first, entry, entry_share = p.row_hops, p.row_first, p.entry, p.entry_share
    link_of, seconds_per_byte = p.link_of, p.seconds_per_byte
    a_batch, b_batch = divisors[config[a, 0]], divisors[config[b, 0]]
    a_parts, b_parts = divisors[config[a, 1]], divisors[config[b, 1]]
    a_step, b_step = n // (a_batch * a_parts), n // (b_batch * b_parts)
    a_ranges = a_parts if config[a, 2] == 1 or config[a, 2] == 4 else 1
    b_ranges = b_parts if config[b, 2] == 2 else 1
    circulant, walks = link_of.shape[0] > 1, p.next_link.shape[0] > 1
    hops = -1.0
    i, j, low = 0, 0, 0
    while i < a_batch and j < b_batch:
        high_i, high_j = (i + 1) * batch // a_batch, (j + 1) * batch // b_batch
        samples = min(high_i, high_j) - low
        for c in range(a_parts):
            for e in range(b_parts):
                c_range, e_range = (c if a_ranges > 1 else 0), (e if b_ranges > 1 else 0)
                left = max(c_range * width // a_ranges, e_range * width // b_ranges)
                right = min((c_range + 1) * width // a_ranges, (e_range + 1) * width // b_ranges)
                src = config[a, 3] + (i * a_parts + c) * a_step
                dst = config[b, 3] + (j * b_parts + e) * b_step
                if samples <= 0 or right <= left or src == dst:
                    continue
                size_bytes = float(samples) * float(right - left)
                for way in range(2):
                    source, target = (src, dst) if way == 0 else (dst, src)
                    if walks:
                        hops = max(hops, _load_way(p, source, target, size_bytes, load[way]))
                        continue
                    row = (target - source) % n if circulant else source * n + target
                    hops = max(hops, row_hops[row])
                    for k in range(row_first[row], row_first[row + 1]):
                        link = entry[k, 0]
                        if circulant:
                            node = link + source
                            link = link_of[node - n if node >= n else node, entry[k, 1]]
                        load[way, link] += size_bytes * entry_share[k] * seconds_per_byte[link]
        low = min(high_i, high_j)
        i, j = (i + 1 if high_i <= low else i), (j + 1 if high_j <= low else j)
    return hops


@compiled
def _load_way(p: Problem, source: int, target: int, size_bytes: float, load: Floats) -> float:
    """Load the links of the one way between two servers; return how many there are."""
    node, hops, next_link, link_dst, seconds_per_byte = (
        source,
        0.0,
        p.next_link,
        p.link_dst,
        p.seconds_per_byte,
    )
    while node != target:
        link = next_link[target, node]
        load[link] += size_bytes * seconds_per_byte[link]
        node = link_dst[link]
        hops += 1.0
    return hops


@compiled
def load_reduce(p: Problem, state: State, op: int) -> None:
    """Fill the operator's other AllReduce slot and make it the current one."""
    divisors, seconds_per_byte, servers = p.divisors, p.seconds_per_byte, p.servers
    batch, channel, start = state.config[op, 0], state.config[op, 1], state.config[op, 3]
    ring_bytes, first, rings = p.ring_bytes[op, batch, channel], p.group_first[batch], p.group_rings
    crossing_first, crossing_link = p.crossing_first, p.crossing_link
    slot = 1 - state.slot[1, op]
    state.slot[1, op] = slot
    load = state.reduce_load[slot, op]
    for link in range(load.shape[0]):
        load[link] = 0.0
    if ring_bytes[0] > 0:
        step = servers // (divisors[batch] * divisors[channel])
        for c in range(divisors[channel]):
            group = first + start + c * step
            size_bytes = ring_bytes[rings[group] - 1]
            for k in range(crossing_first[group], crossing_first[group + 1]):
                link = crossing_link[k]
                load[link] += size_bytes * seconds_per_byte[link]
