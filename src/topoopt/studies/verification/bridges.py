"""Bridges: cables without which a network falls into two parts.

References
----------
.. [1] R. E. Tarjan, "A note on finding the bridges of a graph", Information Processing Letters 2, 1974.
"""

from topoopt.topologies import Topology


def bridges(topology: Topology) -> list[tuple[int, int]]:
    """Return the cables that are bridges, each as (nearer to node 0, farther), in order.

    A walk into the depth gives every node a number and the lowest number that one below it is joined with, over
    another cable than the one that the walk came by. Where that is no lower than the node itself, that cable is the
    only way. Parallel cables are none.
    """
    first, neighbor = topology.first_link.tolist(), topology.dst.tolist()
    ports = topology.ports.tolist()
    number, low = [-1] * topology.nodes, [0] * topology.nodes
    found, count = [], 0
    for root in range(topology.nodes):
        if number[root] >= 0:
            continue
        number[root] = low[root] = count
        count += 1
        walk = [(root, -1, first[root], 2)]  # node, where from, next link, ports of the cable in between
        while walk:
            node, above, link, width = walk.pop()
            if link < first[node + 1]:
                walk.append((node, above, link + 1, width))
                other = neighbor[link]
                if number[other] < 0:
                    number[other] = low[other] = count
                    count += 1
                    walk.append((other, node, first[other], ports[link]))
                elif other != above:
                    low[node] = min(low[node], number[other])
            elif above >= 0:
                low[above] = min(low[above], low[node])
                if low[node] == number[node] and width == 1:
                    found.append((above, node))
    return sorted(found)
