"""Hot loops of routing on plain arrays.

Arrays
------
coins : int64 (d,)               link offsets of a circulant
distance : int32 (n,)            fewest coins to each distance, -1 where none reach it
last : int32 (n,)                index of the smallest coin that ends a shortest sequence, else -1
orders : float64 (n,)            number of ordered shortest sequences
reached : int32 (count,)         distances in breadth-first order
found : int32 (n,)               shortest multisets kept for each distance
counts : int32 (n, limit, d)     how often each multiset holds each coin
option_first : int64 (groups+1,) options of a group (distance, pair); its weights sum to 1
entry_first : int64 (options+1,) entries of an option
resource, amount : int32, float64 (entries,)
                                 what an entry loads (coin class, link) and by how much (bytes) at weight 1
capacity, load : float64 (resources,)  in units of one another: utilisation = load / capacity
first_link, link_dst, ports : int64 (nodes+1,), int32 (links,), int32 (links,)  a graph by rows
link_src : int32 (links,)        the row of each link
demand : float64 (servers, servers)  bytes of each ordered pair
flow : float64 (sources, links)  bytes that each source puts on each link
hops, ways : int32, float64 (rows, nodes)
                                 links and number of shortest paths between a row's root and a node
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True)
def coin_breadth_first(
    n: int, coins: Longs, distance: Ints, last: Ints, orders: Floats, reached: Ints
) -> int:
    """Fill the coin-change table of ``n`` distances; return how many were reached."""
    distance[:] = -1
    last[:] = -1
    orders[:] = 0.0
    distance[0] = 0
    orders[0] = 1.0
    reached[0] = 0
    head, tail = 0, 1
    while head < tail:
        here = reached[head]
        head += 1
        for c in range(len(coins)):
            there = (here + coins[c]) % n
            if distance[there] < 0:
                distance[there] = distance[here] + 1
                last[there] = c
                reached[tail] = there
                tail += 1
            if distance[there] == distance[here] + 1:
                orders[there] += orders[here]
                last[there] = min(last[there], c)
    return tail


@njit(cache=True)
def coin_multisets(coins: Longs, distance: Ints, reached: Ints, found: Ints, counts: Ints) -> None:
    """Keep up to ``limit`` shortest multisets of each distance, taken in turn from all predecessors.

    ``found`` and ``counts`` enter as zeros.
    """
    n, limit, d = counts.shape
    found[0] = 1
    for i in range(1, len(reached)):
        here = reached[i]
        for rank in range(limit):
            for c in range(d):
                before = (here - coins[c]) % n
                if found[here] == limit or distance[before] != distance[here] - 1 or rank >= found[before]:
                    continue
                new = found[here]
                for k in range(d):
                    counts[here, new, k] = counts[before, rank, k] + (k == c)
                fresh = True
                for other in range(new):
                    same = True
                    for k in range(d):
                        same = same and counts[here, other, k] == counts[here, new, k]
                    fresh = fresh and not same
                if fresh:
                    found[here] += 1


@njit(cache=True)
def highest(load: Floats, capacity: Floats) -> float:
    """Return the highest utilisation."""
    peak = 0.0
    for r in range(len(load)):
        peak = max(peak, load[r] / capacity[r])
    return peak


@njit(cache=True)
def balance_options(
    option_first: Longs,
    entry_first: Longs,
    resource: Ints,
    amount: Floats,
    capacity: Floats,
    load: Floats,
    weight: Floats,
    sharpness: Floats,
) -> float:
    """Shift weight between the options of each group until the highest utilisation is low; return it.

    Each sweep prices a resource exponentially in its utilisation, with ``sharpness[sweep]`` as the
    exponent of the fullest one, and moves weight from a group's dearest option to its cheapest by a
    Newton step. ``load`` enters as the background and leaves as the total; ``weight`` leaves as the best
    seen, so it is never worse than it was.
    """
    for option in range(len(weight)):
        for e in range(entry_first[option], entry_first[option + 1]):
            load[resource[e]] += weight[option] * amount[e]
    best = highest(load, capacity)
    best_weight = weight.copy()
    best_load = load.copy()
    price = np.empty(len(load))
    for sharp in sharpness:
        peak = highest(load, capacity)
        if peak <= 0.0:
            break
        slope = sharp / peak
        for r in range(len(load)):
            price[r] = math.exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]
        for group in range(len(option_first) - 1):
            low, high = -1, -1
            low_cost, high_cost = np.inf, -np.inf
            if option_first[group + 1] - option_first[group] < 2:
                continue
            for option in range(option_first[group], option_first[group + 1]):
                cost = 0.0
                for e in range(entry_first[option], entry_first[option + 1]):
                    cost += price[resource[e]] * amount[e]
                if cost < low_cost:
                    low, low_cost = option, cost
                if weight[option] > 0.0 and cost > high_cost:
                    high, high_cost = option, cost
            if high < 0 or low == high or high_cost - low_cost <= 1e-12 * high_cost:
                continue
            bend, jolt = 0.0, 0.0
            for option in (low, high):
                for e in range(entry_first[option], entry_first[option + 1]):
                    change = slope * amount[e] / capacity[resource[e]]
                    bend += change * amount[e] * price[resource[e]]
                    jolt = max(jolt, change)
            # Beyond e-fold the second order says nothing about the exponential.
            move = min(weight[high], (high_cost - low_cost) / bend, 1.0 / jolt)
            weight[high] -= move
            weight[low] += move
            for option in (low, high):
                signed = move if option == low else -move
                for e in range(entry_first[option], entry_first[option + 1]):
                    r = resource[e]
                    load[r] += signed * amount[e]
                    price[r] = math.exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]
        peak = highest(load, capacity)
        if peak < best:
            best = peak
            for option in range(len(weight)):
                best_weight[option] = weight[option]
            for r in range(len(load)):
                best_load[r] = load[r]
    for option in range(len(weight)):
        weight[option] = best_weight[option]
    for r in range(len(load)):
        load[r] = best_load[r]
    return best


@njit(cache=True)
def add_rotated(total: Floats, part: Floats, shift: int, scale: float) -> None:
    """Add ``scale * part[i]`` to ``total[i + shift mod n]``, in two runs so that it vectorises."""
    n = len(total)
    for i in range(n - shift):
        total[i + shift] += scale * part[i]
    for i in range(shift):
        total[i] += scale * part[n - shift + i]


@njit(cache=True)
def circulant_loads(
    demand: Floats, coins: Longs, option_first: Longs, coin: Ints, count: Ints, weight: Floats
) -> Floats:
    """Return the bytes of each (coin, server) link for demand (n, n); options hold runs of equal coins.

    Short runs are added hop by hop. A long run of one coin is noted at its start and its end only and
    summed up along the cycle of that coin afterwards, so that even a plain ring costs O(n²) in all.
    """
    n, d = len(demand), len(coins)
    load = np.zeros((d, n))
    jump = np.zeros((d, n))
    length = np.zeros((d, n))
    part = np.empty(n)
    for distance in range(1, n):
        busy = 0.0
        for i in range(n):
            part[i] = demand[i, (i + distance) % n]
            busy += part[i]
        if busy == 0.0:
            continue
        for option in range(option_first[distance], option_first[distance + 1]):
            w = weight[option]
            place = 0
            for run in range(d):
                repeat = count[option, run]
                if repeat == 0:
                    break
                c = coin[option, run]
                if repeat <= 3:
                    for _ in range(repeat):
                        add_rotated(load[c], part, place, w)
                        place = (place + coins[c]) % n
                else:
                    add_rotated(jump[c], part, place, w)
                    add_rotated(length[c], part, place, w * repeat)
                    place = (place + repeat * coins[c]) % n
                    add_rotated(jump[c], part, place, -w)
    for c in range(d):
        cycles = math.gcd(n, coins[c])
        for cycle in range(cycles):
            # Jumps give the load along the cycle up to a constant, which the summed lengths settle.
            height, area, v = 0.0, 0.0, cycle
            for _ in range(n // cycles):
                height += jump[c, v]
                area += height - length[c, v]
                v = (v + coins[c]) % n
            height = -area / (n // cycles)
            for _ in range(n // cycles):
                height += jump[c, v]
                load[c, v] = max(load[c, v] + height, 0.0)
                v = (v + coins[c]) % n
    return load


@njit(cache=True)
def breadth_first(
    first_link: Longs, link_dst: Ints, roots: Longs, hops: Ints, parent: Ints, ways: Floats
) -> None:
    """Fill hops from each root, the neighbor that discovered each node first, and shortest path counts."""
    hops[:] = -1
    parent[:] = -1
    ways[:] = 0.0
    queue = np.empty(len(first_link) - 1, np.int32)
    for row in range(len(roots)):
        queue[0] = roots[row]
        hops[row, roots[row]] = 0
        ways[row, roots[row]] = 1.0
        head, tail = 0, 1
        while head < tail:
            here = queue[head]
            head += 1
            for e in range(first_link[here], first_link[here + 1]):
                there = link_dst[e]
                if hops[row, there] < 0:
                    hops[row, there] = hops[row, here] + 1
                    parent[row, there] = here
                    queue[tail] = there
                    tail += 1
                if hops[row, there] == hops[row, here] + 1:
                    ways[row, there] += ways[row, here]


@njit(cache=True)
def longer(array: Ints) -> Ints:
    """Return the array with twice the room."""
    new = np.empty(2 * len(array), np.int32)
    for i in range(len(array)):
        new[i] = array[i]
    return new


@njit(cache=True)
def ecmp_shares(
    first_link: Longs, link_dst: Ints, ports: Ints, hops: Ints, row: Longs, src: Longs, dst: Longs
) -> tuple[Longs, Ints, Floats]:
    """Return, by rows of pairs, links and shares when every node splits equally over its next ports.

    ``hops[row[k]]`` holds the hops of every node to ``dst[k]``.
    """
    pairs = len(src)
    first = np.zeros(pairs + 1, np.int64)
    links = np.empty(max(64, 4 * pairs), np.int32)
    flow = np.zeros(len(first_link) - 1)
    shares = np.empty(len(links))
    queue = np.empty(len(flow), np.int32)
    used = 0
    for pair in range(pairs):
        to = hops[row[pair]]
        head, tail = 0, 0
        if src[pair] != dst[pair]:
            queue[0] = src[pair]
            flow[src[pair]] = 1.0
            tail = 1
        while head < tail:
            here = queue[head]
            head += 1
            width = 0
            for e in range(first_link[here], first_link[here + 1]):
                if to[link_dst[e]] == to[here] - 1:
                    width += ports[e]
            for e in range(first_link[here], first_link[here + 1]):
                there = link_dst[e]
                if to[there] != to[here] - 1:
                    continue
                if used == len(links):
                    links = longer(links)
                    shares = np.concatenate((shares, np.empty(used)))
                share = flow[here] * ports[e] / width
                links[used] = e
                shares[used] = share
                used += 1
                if flow[there] == 0.0:
                    queue[tail] = there
                    tail += 1
                flow[there] += share
        for i in range(tail):
            flow[queue[i]] = 0.0
        first[pair + 1] = used
    return first, links[:used], shares[:used]


@njit(cache=True)
def equal_paths(
    first_link: Longs,
    link_dst: Ints,
    ports: Ints,
    hops: Ints,
    row: Longs,
    src: Longs,
    dst: Longs,
    paths: Longs,
    points: Longs,
    offset: Floats,
    path_first: Longs,
    node_first: Longs,
    nodes: Ints,
    weight: Floats,
) -> int:
    """Fill paths and weights when every node splits equally over its next ports; return how many paths.

    The paths of a pair, in order of node ids, share the interval [0, 1) by weight. With ``points[k]`` = 0
    all of them are listed; else those that hold one of the points (j + offset[k]) / points[k], each with
    the share of the points that it holds. ``paths[k]`` is the most that pair k can have, ``hops[row[k]]``
    holds the hops of every node to ``dst[k]``; the arrays of the answer have room for all.
    """
    deepest = 2
    for k in range(len(src)):
        deepest = max(deepest, hops[row[k], src[k]] + 1)
    node = np.empty(deepest, np.int32)
    cursor = np.empty(deepest, np.int64)
    width = np.empty(deepest, np.int64)
    passed = np.empty(deepest, np.int64)
    share = np.empty(deepest)
    low = np.empty(deepest)
    high = np.empty(deepest)
    found, used = 0, 0
    for k in range(len(src)):
        to, n, u = hops[row[k]], points[k], offset[k]
        path_first[k] = found
        depth = -1
        if paths[k] > 0:
            depth = 0
            node[0], cursor[0], share[0], low[0], high[0] = src[k], -1, 1.0, 0.0, 1.0
        while depth >= 0:
            here = node[depth]
            if here == dst[k]:
                for i in range(depth + 1):
                    nodes[used + i] = node[i]
                used += depth + 1
                weight[found] = share[depth]
                if n > 0:
                    weight[found] = (math.ceil(high[depth] * n - u) - math.ceil(low[depth] * n - u)) / n
                found += 1
                node_first[found] = used
                depth -= 1
                continue
            if cursor[depth] < 0:
                cursor[depth], width[depth], passed[depth] = first_link[here], 0, 0
                for e in range(first_link[here], first_link[here + 1]):
                    if to[link_dst[e]] == to[here] - 1:
                        width[depth] += ports[e]
            e = cursor[depth]
            while e < first_link[here + 1] and to[link_dst[e]] != to[here] - 1:
                e += 1
            cursor[depth] = e + 1
            if e >= first_link[here + 1]:
                depth -= 1
                continue
            size = high[depth] - low[depth]
            begin = low[depth] + size * passed[depth] / width[depth]
            passed[depth] += ports[e]
            end = high[depth]  # exactly, so that no point is lost between neighbors
            if passed[depth] < width[depth]:
                end = low[depth] + size * passed[depth] / width[depth]
            if n > 0 and math.ceil(end * n - u) == math.ceil(begin * n - u):
                continue
            share[depth + 1] = share[depth] * (ports[e] / width[depth])
            depth += 1
            node[depth], cursor[depth], low[depth], high[depth] = link_dst[e], -1, begin, end
    path_first[len(src)] = found
    return found


@njit(cache=True)
def pair_hash(seed: int, src: int, dst: int) -> int:
    """Return 31 well-mixed bits of a pair (a xorshift-multiply mix; not for cryptography)."""
    mixed = (seed * 1_000_003 + src) * 8_191 + dst + 1
    for _ in range(3):
        mixed = (mixed ^ (mixed >> 15)) * 739_982_445 & 0x7FFFFFFF
    return mixed


@njit(cache=True)
def shortest_few(
    first_link: Longs,
    link_dst: Ints,
    hops: Ints,
    ways: Floats,
    row: Longs,
    src: Longs,
    dst: Longs,
    most: int,
    slack: int,
    seed: int,
) -> tuple[Longs, Longs, Ints]:
    """Return, by rows of pairs, up to ``most`` simple paths, none longer than the shortest + ``slack``.

    Of more shortest paths than wanted, those at even spacing in the order of node ids are taken, the
    start of the spacing drawn from the pair. Longer ones are searched depth first, length by length.
    ``hops[row[k]]`` and ``ways[row[k]]`` hold hops and shortest path counts of every node to ``dst[k]``.
    """
    pairs, size = len(src), len(first_link) - 1
    path_first = np.zeros(pairs + 1, np.int64)
    ends = np.empty(most * pairs + 1, np.int64)
    ends[0] = 0
    nodes = np.empty(max(64, 4 * pairs), np.int32)
    stack = np.empty(size + 1, np.int32)
    tried = np.empty(size + 1, np.int32)
    on_path = np.zeros(size, np.bool_)
    paths = 0
    for pair in range(pairs):
        to, count = hops[row[pair]], ways[row[pair]]
        a, b = src[pair], dst[pair]
        begin = paths
        turn = pair_hash(seed, a, b)
        take = 0 if a == b else int(min(float(most), count[a]))
        for j in range(take):
            rank = math.floor((j + turn / 2147483648.0) * count[a] / take)
            used = ends[paths]
            while used + size >= len(nodes):
                nodes = longer(nodes)
            here = a
            nodes[used] = here
            while here != b:
                following = -1
                for e in range(first_link[here], first_link[here + 1]):
                    there = link_dst[e]
                    if to[there] != to[here] - 1:
                        continue
                    following = there
                    if rank < count[there]:
                        break
                    rank -= count[there]
                here = following
                used += 1
                nodes[used] = here
            paths += 1
            ends[paths] = used + 1
        if a != b:
            for length in range(to[a] + 1, to[a] + slack + 1):
                depth = 0
                stack[0] = a
                tried[0] = 0
                on_path[a] = True
                while depth >= 0 and paths - begin < most:
                    here = stack[depth]
                    degree = first_link[here + 1] - first_link[here]
                    if tried[depth] == degree or depth == length:
                        on_path[here] = False
                        depth -= 1
                        continue
                    there = link_dst[first_link[here] + (tried[depth] + turn) % degree]
                    tried[depth] += 1
                    if there == b and depth + 1 == length:
                        used = ends[paths]
                        while used + size >= len(nodes):
                            nodes = longer(nodes)
                        for i in range(depth + 1):
                            nodes[used + i] = stack[i]
                        nodes[used + depth + 1] = b
                        paths += 1
                        ends[paths] = used + depth + 2
                    elif there != b and not on_path[there] and 0 <= to[there] <= length - depth - 1:
                        depth += 1
                        stack[depth] = there
                        tried[depth] = 0
                        on_path[there] = True
                while depth >= 0:
                    on_path[stack[depth]] = False
                    depth -= 1
        path_first[pair + 1] = paths
    return path_first, ends[: paths + 1], nodes[: ends[paths]]


@njit(cache=True)
def shortest_tree(
    first_link: Longs, link_dst: Ints, length: Floats, root: int, far: Floats, via: Ints, queue: Ints
) -> None:
    """Fill the distance of every node from ``root`` and its last link, for links of positive length.

    Label-correcting with a first-in first-out queue: on graphs of small degree it beats a heap.
    """
    size = len(first_link) - 1
    waiting = np.zeros(size, np.bool_)
    for v in range(size):
        far[v] = np.inf
        via[v] = -1
    far[root] = 0.0
    queue[0] = root
    head, waits = 0, 1
    while waits > 0:
        here = queue[head]
        head = (head + 1) % size
        waits -= 1
        waiting[here] = False
        for e in range(first_link[here], first_link[here + 1]):
            there = link_dst[e]
            reach = far[here] + length[e]
            if reach < far[there]:
                far[there] = reach
                via[there] = e
                if not waiting[there]:
                    waiting[there] = True
                    queue[(head + waits) % size] = there
                    waits += 1


@njit(cache=True)
def tree_loads(link_src: Ints, link_dst: Ints, via: Ints, demand: Floats, load: Floats, queue: Ints) -> None:
    """Fill the bytes on each link when ``demand[v]`` bytes go from the root to node v along the tree."""
    size = len(via)
    below = np.zeros(size, np.int32)
    through = np.zeros(size)
    for e in range(len(load)):
        load[e] = 0.0
    for v in range(size):
        if v < len(demand):
            through[v] = demand[v]
        if via[v] >= 0:
            below[link_src[via[v]]] += 1
    tail = 0
    for v in range(size):
        if via[v] >= 0 and below[v] == 0:
            queue[tail] = v
            tail += 1
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        before = link_src[via[v]]
        load[via[v]] = through[v]
        through[before] += through[v]
        below[before] -= 1
        if below[before] == 0 and via[before] >= 0:
            queue[tail] = before
            tail += 1


@njit(cache=True)
def reroute_sources(
    first_link: Longs,
    link_src: Ints,
    link_dst: Ints,
    demand: Floats,
    capacity: Floats,
    flow: Floats,
    load: Floats,
    sharp: float,
) -> None:
    """Move each source's flow towards its cheapest tree, by a Newton step, under prices of the load.

    ``flow[s]`` is what source s puts on each link and ``load`` the sum with the background. A link's
    price is exponential in its utilisation, ``sharp`` being the exponent of the fullest.
    """
    size, links = len(first_link) - 1, len(link_dst)
    price, new = np.empty(links), np.empty(links)
    far, via, queue = np.empty(size), np.empty(size, np.int32), np.empty(size, np.int32)
    for s in range(len(demand)):
        peak = highest(load, capacity)
        slope = sharp / peak
        for e in range(links):
            # The floor keeps lengths positive, so that no tree has a cycle.
            price[e] = (math.exp(slope * (load[e] / capacity[e] - peak)) + 1e-12) / capacity[e]
        shortest_tree(first_link, link_dst, price, s, far, via, queue)
        tree_loads(link_src, link_dst, via, demand[s], new, queue)
        gain, bend, jolt = 0.0, 0.0, 0.0
        for e in range(links):
            change = new[e] - flow[s, e]
            gain -= price[e] * change
            bend += slope * price[e] / capacity[e] * change * change
            jolt = max(jolt, slope * change / capacity[e])
        if gain > 0.0 and bend > 0.0:
            step = min(1.0, gain / bend)
            # Beyond e-fold the second order says nothing about the exponential. Where flow only falls
            # (rounding leaves such sources) there is no jolt.
            if jolt * step > 1.0:
                step = 1.0 / jolt
            for e in range(links):
                change = step * (new[e] - flow[s, e])
                flow[s, e] += change
                load[e] += change


@njit(cache=True)
def demand_distance(first_link: Longs, link_dst: Ints, demand: Floats, length: Floats) -> float:
    """Return the sum over pairs of bytes times distance, under the lengths."""
    size = len(first_link) - 1
    far, via, queue = np.empty(size), np.empty(size, np.int32), np.empty(size, np.int32)
    total = 0.0
    for s in range(len(demand)):
        shortest_tree(first_link, link_dst, length, s, far, via, queue)
        for v in range(len(demand)):
            if demand[s, v] > 0.0:
                total += demand[s, v] * far[v]
    return total
