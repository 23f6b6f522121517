"""How jobs share the links on which they meet: fairly, by fixed weights, or as MLTCP lets them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.simulation import FAIR, Aggressiveness

MOST_UNEQUAL = 0.99
"""The largest part that a job gets of a link which it shares with the next one."""


@dataclass(frozen=True, slots=True)
class LinkSharing:
    """What decides the weights of jobs that share links max-min fairly, a weight each.

    Attributes
    ----------
    name : str
        In :data:`SHARINGS`.
    aggressiveness : Aggressiveness
        The weight of a job, by the part of its iteration's bytes that it has sent.
    ratio : float
        Of the weights of a job and the next one in order, besides: 1 where nobody is preferred.
    learning_iterations : int
        Iterations in which a job learns its total bytes and its computing time, and has the weight 1.
    """

    name: str
    aggressiveness: Aggressiveness = FAIR
    ratio: float = 1.0
    learning_iterations: int = 0


def fair_sharing() -> LinkSharing:
    """Return the sharing of plain congestion control: all weights are 1."""
    return LinkSharing("fair")


def static_sharing(part: float = 0.6) -> LinkSharing:
    """Return static unfairness: of two jobs that follow each other in order the first has always this part of a link.

    Raises
    ------
    InvalidInput
        For a part below a half or above :data:`MOST_UNEQUAL`.

    Examples
    --------
    >>> round(static_sharing(0.6).ratio, 3)
    1.5
    """
    if not 0.5 <= part <= MOST_UNEQUAL:
        raise InvalidInput(f"static sharing: part {part:g}: expected 0.5 (fair) to {MOST_UNEQUAL:g}")
    return LinkSharing("static", ratio=part / (1.0 - part))


def mltcp_sharing(
    aggressiveness: Aggressiveness | None = None, *, learning_iterations: int = 0
) -> LinkSharing:
    """Return MLTCP's sharing, with totals given, or learned in the first iterations.

    Raises
    ------
    InvalidInput
        For a negative number of iterations.
    """
    if learning_iterations < 0:
        raise InvalidInput(f"learning_iterations: must be >= 0, got {learning_iterations}")
    return LinkSharing("mltcp", aggressiveness or Aggressiveness(), learning_iterations=learning_iterations)


SHARINGS: Mapping[str, Callable[[], LinkSharing]] = {
    "fair": fair_sharing,
    "static": static_sharing,
    "mltcp": mltcp_sharing,
}
"""The ways of sharing by name, each as it is by default."""
