"""A Markov chain over strategies, compiled: propose, evaluate what has changed, keep or take back.

``arrays.py`` describes the arrays. Loops are written out because each array expression costs Numba seconds of
compilation; and this is the one function of the search that Python calls, so that all of it is compiled once.
"""

from pathlib import Path

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.kernel import compiled, entry, spliced, stamp, stamped
from topoopt.search.arrays import Problem, State
from topoopt.search.loads_kernel import load_edge, load_reduce
from topoopt.search.memory_kernel import fullest_bytes
from topoopt.search.proposals_kernel import next_random, propose
from topoopt.search.timeline_kernel import evaluate

NOW, BEST = 0, 1

STAMP = stamp(Path(__file__).parent.glob("*_kernel.py"))
"""Of all that is compiled into the chain: tells its versions apart in the cache on disk."""


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
    topology. Accepts what is not slower, else with probability exp(-alpha·Δms).
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
        if returning or slower_ms <= 0 or next_random(random) < np.exp(-alpha_per_ms * slower_ms):
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
    """Note which operators are configured in another way than before, or all; return whether any is."""
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
