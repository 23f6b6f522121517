"""One Markov chain over strategies on a fixed fabric: FlexFlow's search with the authors' acceptance rule.

The chain starts from a given strategy and re-draws, copies, exchanges or spreads operators. It keeps what is
not slower, and sometimes what is: with probability exp(-alpha·Δms). Every hundredth part of the budget it
returns to the best strategy seen (TopoOpt section 4.2; spec of the release).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.finder import FinderRules
from topoopt.routing import Fabric
from topoopt.search.proposals.mcmc_kernel import run_chain
from topoopt.search.proposals.problem import SearchProblem
from topoopt.workloads import ParallelStrategy

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


BEHIND = 1.01
"""Times the best of all chains, from which on a chain goes on where that one is.

Measured on 16, 32, 128 servers with 4 ports, and NCF on 128 with 8, seeds 0 to 2: plans of DLRM, NCF and CANDLE become
0.16 % faster on the average, up to 1.3 %, one of 24 0.5 % slower, in the same time. The best strategy on a chain's own
wirings, in place of that which it is for, gains less, and loses up to 3 %."""


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain between two rounds.

    Attributes
    ----------
    strategy : ParallelStrategy
        At which the next round begins.
    budget : int
        Proposals of all rounds.
    wirings : tuple of FinderRules
        Which rounds take by turns; none: the options' rules.
    rounds : tuple of ChainAnswer
        What the rounds so far have found.
    idle : int
        Rounds, up to the last, that gained nothing.
    over : str
        Why there is no further round; empty while there may be one.
    cpu_s : float
        Of all rounds so far.
    """

    strategy: ParallelStrategy
    budget: int
    rng: np.random.Generator
    wirings: tuple[FinderRules, ...] = ()
    rounds: tuple[ChainAnswer, ...] = ()
    idle: int = 0
    over: str = ""
    cpu_s: float = 0.0

    @property
    def made(self) -> int:
        """Proposals so far."""
        return sum(row.proposals for row in self.rounds)

    @property
    def best(self) -> ChainAnswer:
        """The best round."""
        return min(self.rounds, key=lambda row: row.time_s)

    @property
    def answer(self) -> ChainAnswer:
        """The best of all rounds, with what all of them together took."""
        points, made = list[tuple[int, float]](), 0
        for row in self.rounds:
            points += [(made + proposals, time_s) for proposals, time_s in row.convergence]
            made += row.proposals
        return replace(
            self.best, proposals=made, stopped_because=self.over or "budget", convergence=_descending(points)
        )


def exchanged(chains: Sequence[Chain]) -> list[Chain]:
    """Return the chains, those that are well behind with the best strategy of all and the wiring that it is for.

    A chain that had converged has a use for the rest of its budget then. Each goes on by its own chance.
    """
    best = min((chain.best for chain in chains), key=lambda row: row.time_s)
    wirings = () if best.rules is None else (best.rules,)
    return [
        replace(chain, strategy=best.strategy, wirings=wirings, idle=0, over="")
        if chain.over in ("", "converged")
        and chain.made < chain.budget
        and chain.best.time_s >= BEHIND * best.time_s
        else chain
        for chain in chains
    ]


def _descending(convergence: Sequence[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    """Keep the points at which the best time so far fell."""
    kept: list[tuple[int, float]] = []
    for proposals, time_s in convergence:
        if not kept or time_s < kept[-1][1]:
            kept.append((proposals, time_s))
    return tuple(kept)
