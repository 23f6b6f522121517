"""Breadth-first trees of many roots, and breadth-first broadcasts over them, compiled.

Servers at one distance whose shards may enter by the same links are a class; a flow puts the shards of the classes on
the links, and a class's shards are then cut where the flow of one link ends and that of the next begins.

Arrays
------
first_in, in_src, in_ports, roots, distance, mask, queue, most, per, reached   as below
class_mask, class_count (servers,) int64   room: links of each class, and its shards
class_of (servers,)      int64    room: the class of the server at each place in the queue
flow (servers, links)    int64    room: units of each class on each link
load, came_class, came_link, line (links,)  int64  room: units on each link; how a search came to it; its order
row_step, row_link, row_shard, row_first, row_count (room,)  int64  each send: step, link (its
                                  place among the links in), owner of the shard, first chunk, number

Arrays of how full the fullest link into a server must be in each step of a broadcast
-----------------------------------------------------------------------------------
first_in (servers + 1,)  int64    CSR pointer: the links into server u are ``first_in[u] : first_in[u + 1]``
in_src (links,)          int32    where each comes from
in_ports (links,)        int64    its ports; a link of two ports carries twice as much
roots (rows,)            int64    root servers; one is enough where all are alike
distance (servers,)      int32    room: links from each server to the root, -1 where not reached
mask (servers,)          int64    room: bit j: a shortest path from the server enters the root by its link j
queue (servers,)         int32    room: servers in order of distance
inside (2 ** links in,)  int64    room: shards all of whose entries are in a set of links
size (2 ** links in,)    int64    room: ports of a set of links
most, per (servers,)     int64    shards on the fullest port in step t + 1: ``most / per``, in lowest terms or not
reached (rows,)          int64    servers from which each root is reached, itself among them

Arrays of breadth-first trees
-----------------------------
first_link, link_dst : int64 (nodes+1,), int32 (links,)  a graph by rows
roots : int64 (rows,)
hops, parent : int32 (rows, nodes)    links from the root; the neighbor that discovered each node; -1 where none
ways : float64 (rows, nodes)          number of shortest paths
queue : int32 (nodes,)                room to work in
"""

from typing import NamedTuple

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, entry, stamp, stamped

STAMP = stamp([])


class InLinks(NamedTuple):
    """The links of a wiring by where they end."""

    first_in: Ints
    in_src: Ints32
    in_ports: Ints


class Seen(NamedTuple):
    """Room: how one server sees the others."""

    distance: Ints32
    mask: Ints
    queue: Ints32
    class_mask: Ints
    class_count: Ints
    class_of: Ints


class Flow(NamedTuple):
    """Scratch space: loads of links."""

    flow: Ints
    load: Ints
    came_class: Ints
    came_link: Ints
    line: Ints


class Sent(NamedTuple):
    """Shards sent in a broadcast, row by row."""

    row_step: Ints
    row_link: Ints
    row_shard: Ints
    row_first: Ints
    row_count: Ints


@entry
@stamped(STAMP)
def fullest_by_flow(
    wiring: InLinks, roots: Ints, seen: Seen, room: Flow, most: Ints, per: Ints, reached: Ints
) -> int:
    """Fill ``most`` and ``per``, which enter as 0 and 1, and return the steps; for any number of links up to 62."""
    first_in, in_src, _ = wiring
    distance, mask, queue, _, _, _ = seen
    steps = 0
    for row in range(len(roots)):
        u = roots[row]
        tail = ways_in(first_in, in_src, u, distance, mask, queue)
        reached[row] = tail
        head = 1
        while head < tail:
            t = distance[queue[head]]
            head, _, p, q = _step(wiring, u, head, tail, seen, room)
            if p * per[t - 1] > most[t - 1] * q:
                most[t - 1] = p
                per[t - 1] = q
            steps = max(steps, t)
    return steps


@entry
@stamped(STAMP)
def lay_broadcast(
    wiring: InLinks, begin_root: int, chunks: int, seen: Seen, room: Flow, rows: int, sent: Sent
) -> tuple[int, int]:
    """Append the rows received by every server from ``begin_root`` on; return the server without space, and the
    rows.

    No port of a server carries more than its least fullest one would, rounded up to whole chunks.
    """
    first_in, in_src, _ = wiring
    distance, mask, queue, _, _, class_of = seen
    flow, _, _, _, _ = room
    row_step, row_link, row_shard, row_first, row_count = sent
    servers = len(first_in) - 1
    for u in range(begin_root, servers):
        begin, links = first_in[u], first_in[u + 1] - first_in[u]
        if rows + (servers + 1) * (links + 1) > len(row_step):
            return u, rows
        tail = ways_in(first_in, in_src, u, distance, mask, queue)
        head = 1
        while head < tail:
            t = distance[queue[head]]
            end, classes, p, q = _step(wiring, u, head, tail, seen, room)
            _spread(wiring, u, classes, seen, chunks, (chunks * p + q - 1) // q, room)
            for c in range(classes):
                j, place = 0, head
                for i in range(head, end):
                    if class_of[i] != c:
                        continue
                    place = 0
                    while place < chunks:
                        while flow[c, j] == 0:
                            j += 1
                        part = min(flow[c, j], chunks - place)
                        flow[c, j] -= part
                        row_step[rows] = t - 1
                        row_link[rows] = begin + j
                        row_shard[rows] = queue[i]
                        row_first[rows] = place
                        row_count[rows] = part
                        rows += 1
                        place += part
            head = end
    return servers, rows


@compiled
def _step(wiring: InLinks, u: int, head: int, tail: int, seen: Seen, room: Flow) -> tuple[int, int, int, int]:
    """Process the servers at the distance of place ``head``.

    Return where they end, their classes, and the shards on the fullest port as a fraction.
    """
    end, classes = _classes(head, tail, seen)
    p, q = _fullest(wiring, u, classes, seen, room)
    return end, classes, p, q


@compiled
def _classes(head: int, tail: int, seen: Seen) -> tuple[int, int]:
    """Sort the servers at the distance of place ``head`` into classes; return where they end, and the classes."""
    distance, mask, queue, class_mask, class_count, class_of = seen
    t = distance[queue[head]]
    end, classes = head, 0
    while end < tail and distance[queue[end]] == t:
        m = mask[queue[end]]
        c = 0
        while c < classes and class_mask[c] != m:
            c += 1
        if c == classes:
            class_mask[c] = m
            class_count[c] = 0
            classes += 1
        class_count[c] += 1
        class_of[end] = c
        end += 1
    return end, classes


@compiled
def _fullest(wiring: InLinks, u: int, classes: int, seen: Seen, room: Flow) -> tuple[int, int]:
    """Return the shards on the fullest port as a fraction: raised until a flow finds room for all (Dinkelbach)."""
    first_in, _, in_ports = wiring
    _, _, _, class_mask, class_count, _ = seen
    begin, links = first_in[u], first_in[u + 1] - first_in[u]
    inside = (1 << links) - 1
    while True:
        p, q = 0, 0
        for c in range(classes):
            if class_mask[c] & ~inside == 0:
                p += class_count[c]
        for j in range(links):
            if inside >> j & 1:
                q += in_ports[begin + j]
        inside = _spread(wiring, u, classes, seen, q, p, room)
        if inside == 0:
            return p, q


@compiled
def _spread(wiring: InLinks, u: int, classes: int, seen: Seen, units: int, most: int, room: Flow) -> int:
    """Assign ``units`` of each shard to links, at most ``most`` a port; return 0, or a set of too small links."""
    first_in, _, in_ports = wiring
    _, _, _, class_mask, class_count, _ = seen
    flow, load, came_class, came_link, line = room
    begin, links = first_in[u], first_in[u + 1] - first_in[u]
    for j in range(links):
        load[j] = 0
    for c in range(classes):
        for j in range(links):
            flow[c, j] = 0
    for c in range(classes):
        left = class_count[c] * units
        while left > 0:
            head, tail, found = 0, 0, (-1)
            for j in range(links):
                came_class[j] = -1
                if class_mask[c] >> j & 1:
                    came_class[j] = c
                    came_link[j] = -1
                    line[tail] = j
                    tail += 1
            while head < tail and found < 0:
                j = line[head]
                head += 1
                if load[j] < most * in_ports[begin + j]:
                    found = j
                    break
                for other in range(c + 1):
                    if flow[other, j] > 0:
                        for to in range(links):
                            if came_class[to] < 0 and class_mask[other] >> to & 1:
                                came_class[to] = other
                                came_link[to] = j
                                line[tail] = to
                                tail += 1
            if found < 0:
                reached = 0
                for j in range(links):
                    if came_class[j] >= 0:
                        reached |= 1 << j
                return reached
            part = min(left, most * in_ports[begin + found] - load[found])
            j = found
            while came_link[j] >= 0:
                part = min(part, flow[came_class[j], came_link[j]])
                j = came_link[j]
            load[found] += part
            j = found
            while j >= 0:
                flow[came_class[j], j] += part
                if came_link[j] >= 0:
                    flow[came_class[j], came_link[j]] -= part
                j = came_link[j]
            left -= part
    return 0


@entry
def fullest_by_subsets(
    first_in: Ints,
    in_src: Ints32,
    in_ports: Ints,
    roots: Ints,
    distance: Ints32,
    mask: Ints,
    queue: Ints32,
    inside: Ints,
    size: Ints,
    most: Ints,
    per: Ints,
    reached: Ints,
) -> int:
    """Fill ``most`` and ``per``, which enter as 0 and 1, and return the steps.

    The least that the fullest of some links must carry, of shards that may be split at will over the links open to
    each, is the largest of (shards that only some set S of links may carry) / (ports of S).
    """
    steps = 0
    for row in range(len(roots)):
        u = roots[row]
        begin, links = first_in[u], first_in[u + 1] - first_in[u]
        tail = ways_in(first_in, in_src, u, distance, mask, queue)
        reached[row] = tail
        sets = 1 << links
        size[0] = 0
        for s in range(1, sets):
            low = s & -s
            j = 0
            while (low >> j) != 1:
                j += 1
            size[s] = size[s ^ low] + in_ports[begin + j]
        head = 1
        while head < tail:
            t = distance[queue[head]]
            for s in range(sets):
                inside[s] = 0
            while head < tail and distance[queue[head]] == t:
                inside[mask[queue[head]]] += 1
                head += 1
            for j in range(links):
                for s in range(sets):
                    if s >> j & 1:
                        inside[s] += inside[s ^ (1 << j)]
            for s in range(1, sets):
                if inside[s] * per[t - 1] > most[t - 1] * size[s]:
                    most[t - 1] = inside[s]
                    per[t - 1] = size[s]
            steps = max(steps, t)
    return steps


@compiled
def ways_in(first_in: Ints, in_src: Ints32, u: int, distance: Ints32, mask: Ints, queue: Ints32) -> int:
    """Fill distance, entries and order of all servers as server ``u`` sees them; return how many reach it."""
    for v in range(len(distance)):
        distance[v] = -1
        mask[v] = 0
    distance[u] = 0
    queue[0] = u
    head, tail = 0, 1
    while head < tail:
        x = queue[head]
        head += 1
        for e in range(first_in[x], first_in[x + 1]):
            v = in_src[e]
            if distance[v] < 0:
                distance[v] = distance[x] + 1
                queue[tail] = v
                tail += 1
            if distance[v] == distance[x] + 1:
                if x == u:
                    mask[v] |= 1 << (e - first_in[u])
                else:
                    mask[v] |= mask[x]
    return tail


@entry
def breadth_first(
    first_link: Ints, link_dst: Ints32, roots: Ints, hops: Ints32, parent: Ints32, ways: Floats, queue: Ints32
) -> None:
    """Fill the trees; ``hops`` and ``parent`` enter as -1, ``ways`` as zeros."""
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
