"""The noun WiringRequest: for which servers and interfaces a wiring is looked for, and by what it is judged."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import finite
from topoopt.catalog import ClusterSpec

BEST = "best"
LIFTED = "lifted"
OBJECTIVES = ("hops", "balanced")
"""What the chosen wiring has least of: mean hops, or hops as the fullest link of an all-to-all has them."""

_QUICK_S, _LONGER_QUICK_S, _FEW = 0.5, 1.0, 1000
_LONGEST_SEARCH_S = 86_400
_SEARCH_S, _LONGER_SEARCH_S, _MANY, _LARGE = 3.0, 10.0, 512, 8192


@dataclass(frozen=True, slots=True)
class WiringRequest:
    """What is asked.

    Attributes
    ----------
    family : str
        A name of :data:`FAMILY_NAMES`, or ``best`` of all.
    budget_s : float
        Seconds of search on one core, counted in work done; 0 chooses.
    ring_group : int
        Servers of a group, by number, that a factor of rings joins; 0 for none.
    """

    servers: int
    degree: int
    links: str = "duplex"
    family: str = BEST
    objective: str = "hops"
    seed: int = 0
    budget_s: float = 0.0
    ring_group: int = 0

    def __post_init__(self) -> None:
        ClusterSpec(self.servers, self.degree, 1e9, links=self.links)  # refuses what cannot be wired
        check_known("objective", self.objective, OBJECTIVES)
        if not 0 <= finite("budget", self.budget_s) <= _LONGEST_SEARCH_S:
            raise InvalidInput(
                f"budget: expected seconds >= 0, a day ({_LONGEST_SEARCH_S:,}) at most, got {self.budget_s:g}"
            )
        if self.seed < 0:
            raise InvalidInput(f"seed: must be >= 0, got {self.seed}")
        if self.degree >= self.servers:
            raise InvalidInput(
                f"degree: {self.servers - 1} interfaces reach every other of {self.servers} servers, got "
                f"{self.degree}; ask for fewer, or for strides"
            )
        if self.ring_group and (
            self.links != "duplex" or self.degree < 4 or self.degree % 2 or not self.ring_group >= 3
            or self.servers % self.ring_group or self.servers < 2 * self.ring_group
        ):  # fmt: skip
            raise InvalidInput(
                f"ring_group: expected 3 or more servers, a divisor of {self.servers} below it, with duplex links and "
                f"an even degree from 4 on, got {self.ring_group} with {self.links} degree {self.degree}"
            )

    @property
    def search_s(self) -> float:
        """Seconds to spend on the search."""
        longer = _MANY < self.servers <= _LARGE  # above, judging what is found takes the rest of the time
        return self.budget_s or (_LONGER_SEARCH_S if longer else _SEARCH_S)


def quick_search_s(servers: int, degree: int) -> float:
    """Return seconds of search after which a lifted wiring has about 1 % more hops than after 10 s.

    Measured at 17 sizes of 20 to 3,000 servers with 3, 4, 6 and 8 interfaces, none of them usual: at most 0.9 % more
    (2,003 servers of 4: 0.85 %; 998 of 3: 0.77 %; 331 of 4: 0.81 %), 0.4 % in the mean.
    """
    return _LONGER_QUICK_S if degree % 2 or servers > _FEW else _QUICK_S
