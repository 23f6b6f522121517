"""Weight moved from expensive options to cheap ones under exponential prices, compiled.

A group is a pair of servers with its paths over links, or a distance with its coins.

Arrays
------
option_first : int64 (groups+1,) options of a group; their weights sum to 1
entry_first : int64 (options+1,) entries of an option
resource : int32 (entries,)      what an entry loads: a link, a class of coins
amount : float64                 how much that is at weight 1: (entries,), or (groups,) where those of a group are alike
capacity, load : float64 (resources,)  in units of one another: utilization = load / capacity
weight : float64 (options,)
sharpness : float64 (sweeps,)    exponent of the fullest resource's price
price : float64 (resources,)     room to work in; so are ``best_load`` and ``best_weight``
"""

from typing import Literal, NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, exp, stamp, stamped


class Options(NamedTuple):
    """What may be chosen, and what it loads."""

    option_first: Ints
    entry_first: Ints
    resource: Ints32
    amount: Floats
    capacity: Floats


STAMP = stamp([])
"""Of all that is compiled into this kernel."""


@concurrent_entry
@stamped(STAMP)
def shift_weights(
    o: Options,
    by_entry: Literal[True] | None,
    load: Floats,
    weight: Floats,
    sharpness: Floats,
    price: Floats,
    best_load: Floats,
    best_weight: Floats,
) -> float:
    """Sweep over all groups, ever more sharply; return the highest utilization, load and weights at their best.

    ``load`` enters as what the resources carry anyway. ``by_entry`` says what ``amount`` is by; without it the compiler
    leaves out the other way (Numba drops branches on None), so that neither costs time.
    """
    option_first, entry_first, resource = o.option_first, o.entry_first, o.resource
    amount, capacity = o.amount, o.capacity
    for group in range(len(option_first) - 1):
        for option in range(option_first[group], option_first[group + 1]):
            if weight[option] > 0.0:
                for e in range(entry_first[option], entry_first[option + 1]):
                    if by_entry is None:
                        load[resource[e]] += weight[option] * amount[group]
                    else:
                        load[resource[e]] += weight[option] * amount[e]
    best = highest(load, capacity)
    copy(weight, best_weight)
    copy(load, best_load)
    peak = best
    for sweep in range(len(sharpness)):
        if peak <= 0.0:
            break
        slope = sharpness[sweep] / peak
        for r in range(len(load)):
            price[r] = exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]
        _sweep(o, by_entry, load, weight, price, slope, peak)
        peak = highest(load, capacity)
        if peak < best:
            best = peak
            copy(weight, best_weight)
            copy(load, best_load)
    copy(best_weight, weight)
    copy(best_load, load)
    return best


@compiled
def _sweep(
    o: Options,
    by_entry: Literal[True] | None,
    load: Floats,
    weight: Floats,
    price: Floats,
    slope: float,
    peak: float,
) -> None:
    """Move weight from the most expensive option of each group to its cheapest, one Newton step."""
    option_first, entry_first, resource = o.option_first, o.entry_first, o.resource
    amount, capacity = o.amount, o.capacity
    for group in range(len(option_first) - 1):
        low, high = -1, -1
        low_cost, high_cost = np.inf, -np.inf
        if option_first[group + 1] - option_first[group] < 2:
            continue
        for option in range(option_first[group], option_first[group + 1]):
            cost = 0.0
            for e in range(entry_first[option], entry_first[option + 1]):
                if by_entry is None:
                    cost += price[resource[e]]
                else:
                    cost += price[resource[e]] * amount[e]
            if cost < low_cost:
                low, low_cost = option, cost
            if weight[option] > 0.0 and cost > high_cost:
                high, high_cost = option, cost
        if high < 0 or low == high or high_cost - low_cost <= 1e-12 * high_cost:
            continue
        bend, jolt = 0.0, 0.0
        for side in range(2):
            option = low if side == 0 else high
            for e in range(entry_first[option], entry_first[option + 1]):
                r = resource[e]
                if by_entry is None:
                    change = slope * amount[group] / capacity[r]
                    bend += change * price[r]
                else:
                    change = slope * amount[e] / capacity[r]
                    bend += change * amount[e] * price[r]
                jolt = max(jolt, change)
        # Beyond e-fold the second order says nothing about the exponential.
        move = min(weight[high], (high_cost - low_cost) / bend, 1.0 / jolt)
        weight[high] -= move
        weight[low] += move
        for side in range(2):
            option = low if side == 0 else high
            signed = move if side == 0 else -move
            for e in range(entry_first[option], entry_first[option + 1]):
                r = resource[e]
                if by_entry is None:
                    load[r] += signed * amount[group]
                else:
                    load[r] += signed * amount[e]
                price[r] = exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]


@compiled
def highest(load: Floats, capacity: Floats) -> float:
    """Return the highest utilization."""
    peak = 0.0
    for r in range(len(load)):
        peak = max(peak, load[r] / capacity[r])
    return peak


@compiled
def copy(source: Floats, target: Floats) -> None:
    """Copy an array."""
    for i in range(len(source)):
        target[i] = source[i]
