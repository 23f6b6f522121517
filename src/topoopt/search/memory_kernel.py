"""Whether a split fits: the bytes on the fullest accelerator. ``arrays.py`` describes the arrays."""

from topoopt.base.kernel import compiled
from topoopt.search.arrays import OUTPUT_BYTES, STATE_BYTES, TABLE_BYTES, Problem, State


@compiled
def fullest_bytes(p: Problem, state: State) -> float:
    """Return the bytes on the fullest accelerator of the cluster; tables go, largest first, to the emptiest one."""
    config, everywhere, bins = state.config, state.on_server, state.on_accelerator
    largest_first, table_bytes = state.order, state.of_operator[0]
    servers, divisors, costs, operators = p.servers, p.divisors, p.cost, len(p.operator)
    for server in range(servers):
        everywhere[server] = 0.0
        for k in range(bins.shape[1]):
            bins[server, k] = 0.0
    for op in range(operators):
        table_bytes[op] = costs[op, config[op, 0], config[op, 1], TABLE_BYTES]
        k = op
        while k > 0 and table_bytes[largest_first[k - 1]] < table_bytes[op]:
            largest_first[k] = largest_first[k - 1]
            k -= 1
        largest_first[k] = op
    for k in range(operators):
        table = largest_first[k]
        batch, channel, dim = config[table, 0], config[table, 1], config[table, 2]
        parts, ranges = divisors[batch] * divisors[channel], 1
        if dim == 1 or dim == 4:  # the other dims leave whole outputs
            ranges = divisors[channel]
        cost = costs[table, batch, channel]
        on_each = cost[OUTPUT_BYTES] / ranges + cost[STATE_BYTES]
        for part in range(parts):
            server = config[table, 3] + part * (servers // parts)
            everywhere[server] += on_each
            emptiest = 0
            for j in range(1, bins.shape[1]):
                emptiest = j if bins[server, j] < bins[server, emptiest] else emptiest
            bins[server, emptiest] += table_bytes[table]
    fullest = 0.0
    for server in range(servers):
        for k in range(bins.shape[1]):
            fullest = max(fullest, everywhere[server] + bins[server, k])
    return fullest
