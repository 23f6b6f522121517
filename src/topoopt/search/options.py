"""Search options: modes, rules of the finder and budget; and presets of all of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.workers import in_threads
from topoopt.collectives import QUICKEST
from topoopt.finder import LIFTED, STRIDES, FinderRules
from topoopt.jobs import AUTO_BUCKET, AUTO_MICROBATCHES

T = TypeVar("T")
R = TypeVar("R")
LARGEST_FOR_ALL = 1024
"""Servers up to which all proposals are made, on other fabrics, too. One on 4,096 takes 0.05 s of CPU time, on 1,024 a
fiftieth of that; a simulation takes 1.5 GB, and there a quarter."""
MANY_STARTS = "many"
STARTS = (MANY_STARTS, "uniform")
MODES = ("alternating", "released")
WIRINGS = (STRIDES, "any")


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of one search.

    Attributes
    ----------
    mode : str
        ``alternating``: strategy search on a fixed topology and topology finder on a fixed strategy in turn.
        ``released``: the authors' code, which rebuilds the topology inside the chain.
    degree_split, strides, damping, routing : str
        Rules of the topology finder, see :class:`topoopt.finder.FinderRules`.
    starts : str
        ``many``: those of the pool of the job, on several wirings each; ``uniform``: layers split uniformly, on the
        wiring of data parallelism.
    wirings : str
        Wirings to consider, for all servers and for groups: ``strides``, or ``any``.
    wiring : str
        The one to take in place of a choice: a family or a file, as ``wiring`` of :class:`topoopt.finder.FinderRules`.
    budget : int
        Proposals over all chains and rounds.
    baseline_budget : int
        Proposals for each baseline fabric, but no more than ``budget``.
    rounds : int
        Alternations of a chain in 4,000 proposals of all; a larger budget has more of them.
    alpha_per_ms : float
        Temperature of the acceptance test; the authors use 1, and 0.2 for BERT.
    balance : bool
        Shift transfers from the fullest links to other paths at the end; the paper and its code do not.
    processes : int
        Processes that share the chains; 0 chooses. The answer does not depend on it.
    """

    mode: str = "alternating"
    degree_split: str = "proportional"
    strides: str = "best"
    damping: str = "halving"
    routing: str = "coin-change"
    budget: int = 4000
    baseline_budget: int = 500
    chains: int = 2
    rounds: int = 4
    alpha_per_ms: float = 1.0
    seed: int = 0
    balance: bool = True
    processes: int = 0
    wirings: str = "any"
    wiring: str = ""
    starts: str = MANY_STARTS

    def __post_init__(self) -> None:
        check_known("search mode", self.mode, MODES)
        check_known("wirings", self.wirings, WIRINGS)
        check_known("starts", self.starts, STARTS)
        _ = self.rules  # names are checked where they become a value
        for name in ("budget", "baseline_budget", "alpha_per_ms", "seed", "processes"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"{name}: must be >= 0, got {getattr(self, name)}")
        for name in ("chains", "rounds"):
            if getattr(self, name) < 1:
                raise InvalidInput(f"{name}: must be >= 1, got {getattr(self, name)}")

    @property
    def any_wiring(self) -> bool:
        """Whether the wiring of all servers is to be chosen among all that are known."""
        return self.wirings != STRIDES and not self.wiring and self.mode != "released"

    @property
    def rules(self) -> FinderRules:
        """The rules of the topology finder."""
        wiring = self.wiring or STRIDES
        groups = STRIDES if self.wirings == STRIDES else LIFTED
        return FinderRules(self.degree_split, self.strides, self.damping, self.routing, wiring, groups)


PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "default": {"bucket_bytes": AUTO_BUCKET, "microbatches": AUTO_MICROBATCHES, "collective": QUICKEST},
        "paper": {
            "degree_split": "proportional",
            "strides": "nearest",
            "routing": "k-shortest",
            "damping": "halving",
            "balance": False,
            "wirings": "strides",
            "starts": "uniform",
        },
        "released": {
            "mode": "released",
            "degree_split": "all-to-allreduce",
            "strides": "lower-bound",
            "damping": "c/(c+1)",
            "balance": False,
            "embedding_bytes_factor": 2,
            "memory_check": "off",
            "wirings": "strides",
            "starts": "uniform",
        },
    }
)
"""Options of each preset; keys are those of SearchOptions and of the job's settings. The papers AllReduce tensor
by tensor around rings, which is the default of the settings."""


def preset(name: str) -> Mapping[str, Any]:
    """Return the options of a preset.

    Raises
    ------
    InvalidInput
        For an unknown name.
    """
    check_known("preset", name, PRESETS)
    return PRESETS[name]


def affordable(budget: int, servers: int) -> int:
    """Return the proposals to make: all, or fewer such that proposals × pairs of servers stay at those of 1,024.

    Examples
    --------
    >>> affordable(4000, 1024), affordable(4000, 4096), affordable(1, 4096), affordable(0, 4096)
    (4000, 250, 1, 0)
    """
    if servers <= LARGEST_FOR_ALL:
        return budget
    return max(budget * LARGEST_FOR_ALL**2 // servers**2, min(budget, 1))


def as_many_as_fit(function: Callable[[T], R], items: Iterable[T], servers: int) -> list[R]:
    """Apply a simulating function to all items: in parallel, or sequentially with very many servers."""
    return in_threads(function, items) if servers <= LARGEST_FOR_ALL else [function(item) for item in items]
