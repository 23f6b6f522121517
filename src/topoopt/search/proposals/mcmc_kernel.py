"""A Markov chain over strategies, compiled: propose, evaluate the changes, keep or revert.

``arrays.py`` describes the arrays. Loops are written out because each array expression costs Numba seconds of
compilation; and this is the one function of the search that Python calls, so that all of it is compiled once.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel import compiled, entry, exp, spliced, stamp, stamped
from topoopt.search.proposals.arrays import (
    BACKWARD_S,
    CANDIDATES,
    FORWARD_S,
    IS_TABLE,
    KIND,
    OUTPUT_BYTES,
    STATE_BYTES,
    TABLE_BYTES,
    Problem,
    State,
)
from topoopt.search.proposals.timeline_kernel import evaluate, load_edge, load_reduce

Random = NDArray[np.uint64]
NOW, BEST = 0, 1
STAMP = stamp(Path(__file__).parent.glob("*_kernel.py"))
"""Stamp of all code compiled into the chain; distinguishes its versions in the cache on disk."""


@entry
@stamped(STAMP)
def run_chain(
    p: Problem,
    state: State,
    made_before: int,
    proposals: int,
    alpha_per_ms: float,
    own_moves: bool,
    reset_every: int,
    stop_on_accept: bool,
) -> int:
    """Advance a Markov chain that has made ``made_before`` proposals; return how many more were made.

    A state whose times are not known yet is evaluated first. The best configuration and its time follow. With
    ``stop_on_accept`` the chain returns after the first accepted change, so that the caller may rebuild the
    topology. Accepts changes that are not slower, others with probability exp(-alpha·Δms).
    """
    config, best_config, before, times_s = state.config, state.best_config, state.before, state.times_s
    random, limit_bytes, made = state.random, p.memory_limit_bytes, int(np.int64(0))
    while made < proposals or times_s[NOW] < 0.0:
        beginning = times_s[NOW] < 0.0
        due = made_before + made > 0 and (made_before + made) % reset_every == 0
        returning = beginning or (due and times_s[NOW] > times_s[BEST])
        if beginning:
            copy(config, best_config)
        copy(config, before)
        if returning:
            copy(best_config, config)
        else:
            made += 1
            propose(p, state, own_moves)
        if not _note_changes(state, beginning):
            continue
        limited = limit_bytes < np.inf and not returning
        if limited and fullest_bytes(p, state) > limit_bytes:
            copy(before, config)
            continue
        _load_changes(p, state)
        time_s = evaluate(p, state)
        if beginning:
            times_s[NOW] = times_s[BEST] = time_s
        slower_ms = (time_s - times_s[NOW]) * 1e3
        if returning or slower_ms <= 0 or next_random(random) < exp(-alpha_per_ms * slower_ms):
            times_s[NOW] = time_s
            if time_s < times_s[BEST] * (1 - 1e-12):
                times_s[BEST] = time_s
                copy(config, best_config)
            if stop_on_accept and not returning:
                return made
        else:
            _take_back(p, state)
    return made


@spliced
def _note_changes(state: State, all_of_them: bool) -> bool:
    """Record the operators whose configuration changed, or all; return whether there are any."""
    config, before, changed_, different = state.config, state.before, state.changed, False
    for op in range(config.shape[0]):
        changed = all_of_them
        for k in range(4):
            changed = changed or config[op, k] != before[op, k]
        changed_[op] = changed
        different = different or changed
    return different


@spliced
def _load_changes(p: Problem, state: State) -> None:
    changed, edge_ends = state.changed, p.edge_ends
    for edge in range(edge_ends.shape[0]):
        if changed[edge_ends[edge, 0]] or changed[edge_ends[edge, 1]]:
            load_edge(p, state, edge)
    for op in range(changed.shape[0]):
        if changed[op]:
            load_reduce(p, state, op)


@spliced
def _take_back(p: Problem, state: State) -> None:
    """Return to the configuration before, whose loads are still in the other slots."""
    changed, slot, edge_ends = state.changed, state.slot, p.edge_ends
    copy(state.before, state.config)
    for edge in range(edge_ends.shape[0]):
        if changed[edge_ends[edge, 0]] or changed[edge_ends[edge, 1]]:
            slot[0, edge] = 1 - slot[0, edge]
    for op in range(changed.shape[0]):
        if changed[op]:
            slot[1, op] = 1 - slot[1, op]


@compiled
def copy(source: Ints, target: Ints) -> None:
    """Copy a configuration."""
    for i in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[i, k] = source[i, k]


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


@spliced
def propose(p: Problem, state: State, own_moves: bool) -> None:
    """Change the configuration of one operator or several; the authors re-draw and propagate only."""
    config, random = state.config, state.random
    op, draw = pick(random, p.operator.shape[0]), next_random(random)
    if draw < 0.25:
        _propagate(p, config, op, random)
    elif not own_moves or draw < 0.5:
        redraw(p.operator, p.candidate, p.divisors, p.servers, config, op, random)
    elif draw < 0.65:
        _redraw_pair(p, config, op, random)
    elif draw < 0.72:
        _redraw_kind(p, config, op, random)
    elif draw < 0.82:
        _redraw_run(p, config, op, random)
    elif draw < 0.92:
        _exchange_places(config, op, random)
    else:
        _spread(p.divisors, p.cost, state.on_server, config, op)


@compiled
def _propagate(p: Problem, config: Ints, op: int, random: Random) -> None:
    """Copy an operator's configuration to a neighbor, and on from there with probability 0.75."""
    edge_ends, first_in, in_edge, first_out, out_edge = (
        p.edge_ends,
        p.first_in,
        p.in_edge,
        p.first_out,
        p.out_edge,
    )
    operator, candidate, divisors, servers, going = p.operator, p.candidate, p.divisors, p.servers, True
    while going:
        neighbor = neighbor_of(edge_ends, first_in, in_edge, first_out, out_edge, op, random)
        if neighbor < 0:
            return
        choice = choice_like(operator, candidate, neighbor, config[op, 0], config[op, 1], config[op, 2])
        if choice >= 0:
            configure(candidate, divisors, servers, config, neighbor, choice, config[op, 3])
        going = choice >= 0 and next_random(random) < 0.75
        op = neighbor


@compiled
def _redraw_pair(p: Problem, config: Ints, op: int, random: Random) -> None:
    """Re-draw an operator and give a neighbor as many parts in the same place, split on any dim.

    Tensor parallelism pays only if a layer split on its output feeds one split on its input: two changes at once.
    """
    operator, candidate, divisors, servers = p.operator, p.candidate, p.divisors, p.servers
    redraw(operator, candidate, divisors, servers, config, op, random)
    neighbor = neighbor_of(p.edge_ends, p.first_in, p.in_edge, p.first_out, p.out_edge, op, random)
    if neighbor < 0:
        return
    count = operator[neighbor, CANDIDATES]
    first = pick(random, count)
    for k in range(first, first + count):
        choice = k % count
        same_batch = candidate[neighbor, choice, 0] == config[op, 0]
        if same_batch and candidate[neighbor, choice, 1] == config[op, 1]:
            configure(candidate, divisors, servers, config, neighbor, choice, config[op, 3])
            return


@compiled
def _redraw_kind(p: Problem, config: Ints, op: int, random: Random) -> None:
    """Set the same split for all operators of one kind: tables spread evenly, the others in one place."""
    operator, candidate, divisors, servers = p.operator, p.candidate, p.divisors, p.servers
    chosen, start = pick(random, operator[op, CANDIDATES]), pick(random, servers)
    batch, channel, dim = candidate[op, chosen, 0], candidate[op, chosen, 1], candidate[op, chosen, 2]
    places = servers // (divisors[batch] * divisors[channel])
    members, placed = 0, 0
    for other in range(operator.shape[0]):
        members += 1 if operator[other, KIND] == operator[op, KIND] else 0
    for other in range(operator.shape[0]):
        if operator[other, KIND] == operator[op, KIND]:
            choice = choice_like(operator, candidate, other, batch, channel, dim)
            if choice >= 0:
                spread = placed * places // members if members < places else placed
                place = start + (spread if operator[op, IS_TABLE] else 0)
                configure(candidate, divisors, servers, config, other, choice, place)
            placed += 1


@compiled
def _redraw_run(p: Problem, config: Ints, op: int, random: Random) -> None:
    """Set the split of a run of operators of one kind to that of another operator of the kind, or a new one.

    So the border between layers in pairs, say, and data-parallel ones moves by many layers at once.
    """
    operator, candidate, divisors, servers = p.operator, p.candidate, p.divisors, p.servers
    count, other = operator[op, CANDIDATES], pick(random, operator.shape[0])
    first = pick(random, count)
    batch, channel, dim = candidate[op, first, 0], candidate[op, first, 1], candidate[op, first, 2]
    for k in range(first + 1, first + count):
        if divisors[batch] * divisors[channel] < servers and operator[op, IS_TABLE] == 0:
            choice = k % count
            batch, channel, dim = candidate[op, choice, 0], candidate[op, choice, 1], candidate[op, choice, 2]
    if operator[other, KIND] == operator[op, KIND] and next_random(random) < 0.5:
        batch, channel, dim = config[other, 0], config[other, 1], config[other, 2]
    reach = next_random(random)
    end = op + 1 + int(reach * reach * (operator.shape[0] - op))
    for k in range(op, end):
        if operator[k, KIND] == operator[op, KIND]:
            choice = choice_like(operator, candidate, k, batch, channel, dim)
            if choice >= 0:
                configure(candidate, divisors, servers, config, k, choice, config[k, 3])


@compiled
def _exchange_places(config: Ints, op: int, random: Random) -> None:
    """Exchange the places of two operators that are split alike."""
    other = pick(random, config.shape[0])
    if config[op, 0] == config[other, 0] and config[op, 1] == config[other, 1]:
        config[op, 3], config[other, 3] = config[other, 3], config[op, 3]


@compiled
def _spread(divisors: Ints, cost: Floats, work: Floats, config: Ints, op: int) -> None:
    """Move an operator to where its busiest server has the least other work."""
    servers = work.shape[0]
    for server in range(servers):
        work[server] = 0.0
    for other in range(config.shape[0]):
        b, c = config[other, 0], config[other, 1]
        parts = divisors[b] * divisors[c]
        if other != op:
            for part in range(parts):
                server = config[other, 3] + part * (servers // parts)
                work[server] += cost[other, b, c, FORWARD_S] + cost[other, b, c, BACKWARD_S]
    parts = divisors[config[op, 0]] * divisors[config[op, 1]]
    best = np.inf
    for start in range(servers // parts):
        busiest = 0.0
        for part in range(parts):
            busiest = max(busiest, work[start + part * (servers // parts)])
        if busiest < best:
            best = busiest
            config[op, 3] = start


@compiled
def redraw(
    operator: Ints, candidate: Ints, divisors: Ints, servers: int, config: Ints, op: int, random: Random
) -> None:
    """Set any of an operator's candidate splits, from any server on."""
    choice, start = pick(random, operator[op, CANDIDATES]), pick(random, servers)
    configure(candidate, divisors, servers, config, op, choice, start)


@compiled
def configure(
    candidate: Ints, divisors: Ints, servers: int, config: Ints, op: int, choice: int, start: int
) -> None:
    """Set one of an operator's candidate splits, from the server ``start`` on."""
    for k in range(3):
        config[op, k] = candidate[op, choice, k]
    config[op, 3] = start % (servers // (divisors[config[op, 0]] * divisors[config[op, 1]]))


@compiled
def choice_like(operator: Ints, candidate: Ints, op: int, batch: int, channel: int, dim: int) -> int:
    """Return the index of the candidate of ``op`` with this split, -1 if none."""
    for k in range(operator[op, CANDIDATES]):
        same_degrees = candidate[op, k, 0] == batch and candidate[op, k, 1] == channel
        if same_degrees and candidate[op, k, 2] == dim:
            return k
    return -1


@compiled
def neighbor_of(
    edge_ends: Ints, first_in: Ints, in_edge: Ints, first_out: Ints, out_edge: Ints, op: int, random: Random
) -> int:
    """Return a producer or consumer of an operator, -1 if it has none."""
    ins, outs = first_in[op + 1] - first_in[op], first_out[op + 1] - first_out[op]
    if ins + outs == 0:
        return -1
    k = pick(random, ins + outs)
    if k < ins:
        return int(edge_ends[in_edge[first_in[op] + k], 0])
    return int(edge_ends[out_edge[first_out[op] + k - ins], 1])


@compiled
def pick(random: Random, count: int) -> int:
    """Return a number in 0 .. count - 1."""
    return min(int(next_random(random) * count), count - 1)


@compiled
def next_random(random: Random) -> float:
    """Return a number in [0, 1) and advance the xorshift64* state."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return float((x * np.uint64(2685821657736338717)) >> np.uint64(11)) / 9007199254740992.0
