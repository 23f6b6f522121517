"""Goodput: the largest rate at which enough requests meet their objectives, by bisection on the same requests."""

from collections.abc import Callable

from topoopt.inference.objectives import Objectives
from topoopt.inference.search.demand import Demand
from topoopt.inference.simulator import Fleet, simulate_serving

EXACT = 0.01
"""Of the rate, up to which it is found."""

MOST_HALVINGS = 12


def goodput(
    fleet_at: Callable[[float], Fleet], demand: Demand, objectives: Objectives, guess_per_s: float
) -> float:
    """Return requests a second; 0 if even a trickle misses an objective.

    The same requests, with the same lengths and in the same order, come faster or slower.

    Parameters
    ----------
    fleet_at
        The fleet at a rate: the busier its links are, the longer it takes.
    guess_per_s
        Where the search begins.
    """

    def meets(rate_per_s: float) -> bool:
        run = simulate_serving(fleet_at(rate_per_s), demand.at(rate_per_s))
        return run.attainment(objectives) >= objectives.share

    low, high = 0.0, guess_per_s
    for _ in range(MOST_HALVINGS):
        if not meets(high):
            break
        low, high = high, 2 * high
    else:
        return low
    halvings = 0
    while low == 0.0:
        if halvings == MOST_HALVINGS:
            return 0.0
        halvings += 1
        if meets(high / 2):
            low = high / 2
        else:
            high /= 2
    while high - low > EXACT * high:
        middle = (low + high) / 2
        if meets(middle):
            low = middle
        else:
            high = middle
    return low
