"""The noun Chain: a search between two rounds; and how chains exchange what they have found."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.finder import FinderRules
from topoopt.search.markov_chain import ChainAnswer
from topoopt.workloads.strategy import ParallelStrategy

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
