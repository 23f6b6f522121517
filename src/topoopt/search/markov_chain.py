"""One Markov chain over strategies on a fixed fabric: FlexFlow's search with the authors' acceptance rule.

The chain starts from a given strategy and re-draws, copies, exchanges or spreads operators. It keeps what is
not slower, and sometimes what is: with probability exp(-alpha·Δms). Every hundredth part of the budget it
returns to the best strategy seen (TopoOpt section 4.2; spec of the release).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from topoopt.finder import FinderRules
from topoopt.routing import Fabric
from topoopt.search.markov_chain_kernel import run_chain
from topoopt.search.problem import SearchProblem
from topoopt.workloads.strategy import ParallelStrategy

SLICE = 250
"""Proposals between two looks at the clock, the progress bar and Ctrl-C."""


@dataclass(frozen=True, eq=False)
class ChainAnswer:
    """The best strategy of a chain, and the fabric that it is for; ``rules`` are those that wired it, if known."""

    strategy: ParallelStrategy
    fabric: Fabric
    time_s: float
    proposals: int
    stopped_because: str
    convergence: tuple[tuple[int, float], ...]
    rules: FinderRules | None = None


def search_strategy(
    problem: SearchProblem,
    start: ParallelStrategy,
    budget: int,
    rng: np.random.Generator,
    *,
    alpha_per_ms: float = 1.0,
    own_moves: bool = True,
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> ChainAnswer:
    """Return the best strategy that ``budget`` proposals find on the problem's fabric.

    The chain keeps what it has on Ctrl-C, and ends where nothing is left to take time.
    """
    state = problem.state(start)
    times_s = state.times_s
    state.random[:] = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    convergence, made, because = [(0, float(times_s[0]))], 0, "budget"
    reset_every = max(budget // 100, 1)
    while made < budget and times_s[1] > 0.0:
        try:
            step = min(SLICE, budget - made)
            made += run_chain(problem.arrays, state, made, step, alpha_per_ms, own_moves, reset_every, False)
            on_progress(step)
        except KeyboardInterrupt:
            because = "interrupted"
            break
        if times_s[1] < convergence[-1][1]:
            convergence.append((made, float(times_s[1])))
    best = problem.strategy(state.best_config)
    return ChainAnswer(best, problem.fabric, float(times_s[1]), made, because, tuple(convergence))
