"""How full the fullest link into a server must be in each step of a breadth-first broadcast, compiled.

Arrays
------
first_in (servers + 1,)  int64    CSR pointer: the links into server u are ``first_in[u] : first_in[u + 1]``
in_src (links,)          int32    where each comes from
in_ports (links,)        int64    its ports; a link of two ports carries twice as much
roots (rows,)            int64    servers that are looked at; one is enough where all are alike
distance (servers,)      int32    room: links from each server to the root, -1 where not reached
mask (servers,)          int64    room: bit j says that a shortest way from the server enters the root by its link j
queue (servers,)         int32    room: servers in order of distance
inside (2 ** links in,)  int64    room: shards all of whose entries are in a set of links
size (2 ** links in,)    int64    room: ports of a set of links
most, per (servers,)     int64    shards on the fullest port in step t + 1: ``most / per``, in lowest terms or not
reached (rows,)          int64    servers from which each root is reached, itself among them
"""

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.kernel import compiled, entry


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
