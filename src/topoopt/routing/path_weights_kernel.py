"""Weight moved from dear paths of a pair to cheap ones, compiled: as with options, but all of a pair load alike.

Arrays
------
path_first : int64 (pairs+1,)    paths of a pair; their weights sum to 1
step_first : int64 (paths+1,)    steps of a path
link : int32 (steps,)
amount : float64 (pairs,)        what a pair puts on each link of a path of weight 1
capacity, load : float64 (links,)  in units of one another: utilisation = load / capacity
weight : float64 (paths,)
sharpness : float64 (sweeps,)    exponent of the fullest link's price
price : float64 (links,)         room to work in; so is ``best_weight``

Weight moved from dear options to cheap ones, compiled.

Arrays
------
option_first : int64 (groups+1,) options of a group (distance, pair); its weights sum to 1
entry_first : int64 (options+1,) entries of an option
resource, amount : int32, float64 (entries,)
                                 what an entry loads (coin class, link) and by how much (bytes) at weight 1
capacity, load : float64 (resources,)  in units of one another: utilisation = load / capacity
weight : float64 (options,)
sharpness : float64 (sweeps,)    exponent of the fullest resource's price
price : float64 (resources,)     room to work in; so are ``best_load`` and ``best_weight``
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, entry, exp, spliced, stamp, stamped


class Options(NamedTuple):
    """What may be chosen, and what it loads."""

    option_first: Ints
    entry_first: Ints
    resource: Ints32
    amount: Floats
    capacity: Floats


STAMP = stamp([])
"""Of all that is compiled into this kernel."""


class Steps(NamedTuple):
    """The paths of pairs, link by link, and what they carry."""

    path_first: Ints
    step_first: Ints
    link: Ints32
    amount: Floats
    capacity: Floats


@concurrent_entry
@stamped(STAMP)
def shift_path_weights(
    s: Steps,
    load: Floats,
    weight: Floats,
    sharpness: Floats,
    price: Floats,
    best_weight: Floats,
) -> float:
    """Sweep over all pairs, ever more sharply; return the highest utilisation, weights at their best.

    ``load`` enters as what crosses the links anyway.
    """
    path_first, step_first, link, amount, capacity = s.path_first, s.step_first, s.link, s.amount, s.capacity
    for pair in range(len(path_first) - 1):
        for path in range(path_first[pair], path_first[pair + 1]):
            if weight[path] > 0.0:
                for e in range(step_first[path], step_first[path + 1]):
                    load[link[e]] += weight[path] * amount[pair]
    best = highest(load, capacity)
    copy(weight, best_weight)
    peak = best
    for sweep in range(len(sharpness)):
        if peak <= 0.0:
            break
        slope = sharpness[sweep] / peak
        for r in range(len(load)):
            price[r] = exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]
        _sweep(s, load, weight, price, slope, peak)
        peak = highest(load, capacity)
        if peak < best:
            best = peak
            copy(weight, best_weight)
    copy(best_weight, weight)
    return best


@spliced
def _sweep(s: Steps, load: Floats, weight: Floats, price: Floats, slope: float, peak: float) -> None:
    """Move weight from the dearest path of each pair to its cheapest, one Newton step."""
    path_first, step_first, link, amount, capacity = s.path_first, s.step_first, s.link, s.amount, s.capacity
    for pair in range(len(path_first) - 1):
        low, high = -1, -1
        low_cost, high_cost, size = np.inf, -np.inf, amount[pair]
        if path_first[pair + 1] - path_first[pair] < 2:
            continue
        for path in range(path_first[pair], path_first[pair + 1]):
            cost = 0.0
            for e in range(step_first[path], step_first[path + 1]):
                cost += price[link[e]]
            if cost < low_cost:
                low, low_cost = path, cost
            if weight[path] > 0.0 and cost > high_cost:
                high, high_cost = path, cost
        if high < 0 or low == high or high_cost - low_cost <= 1e-12 * high_cost:
            continue
        bend, jolt = 0.0, 0.0
        for side in range(2):
            path = low if side == 0 else high
            for e in range(step_first[path], step_first[path + 1]):
                change = slope * size / capacity[link[e]]
                bend += change * price[link[e]]
                jolt = max(jolt, change)
        # Beyond e-fold the second order says nothing about the exponential.
        move = min(weight[high], (high_cost - low_cost) / bend, 1.0 / jolt)
        weight[high] -= move
        weight[low] += move
        for side in range(2):
            path = low if side == 0 else high
            signed = move * size if side == 0 else -move * size
            for e in range(step_first[path], step_first[path + 1]):
                r = link[e]
                load[r] += signed
                price[r] = exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]


@entry
@stamped(STAMP)
def shift_weights(
    o: Options,
    load: Floats,
    weight: Floats,
    sharpness: Floats,
    price: Floats,
    best_load: Floats,
    best_weight: Floats,
) -> float:
    """Sweep over all groups, ever more sharply; return the highest utilisation, load and weights at their best."""
    entry_first, resource, amount, capacity = o.entry_first, o.resource, o.amount, o.capacity
    for option in range(len(weight)):
        for e in range(entry_first[option], entry_first[option + 1]):
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
        _option_weights_kernel_sweep(o, load, weight, price, slope, peak)
        peak = highest(load, capacity)
        if peak < best:
            best = peak
            copy(weight, best_weight)
            copy(load, best_load)
    copy(best_weight, weight)
    copy(best_load, load)
    return best


@spliced
def _option_weights_kernel_sweep(
    o: Options, load: Floats, weight: Floats, price: Floats, slope: float, peak: float
) -> None:
    """Move weight between the dearest and the cheapest option of every group."""
    option_first, entry_first, resource, amount = o.option_first, o.entry_first, o.resource, o.amount
    capacity = o.capacity
    for group in range(len(option_first) - 1):
        low, high = -1, -1
        low_cost, high_cost = np.inf, -np.inf
        if option_first[group + 1] - option_first[group] < 2:
            continue
        for option in range(option_first[group], option_first[group + 1]):
            cost = 0.0
            for e in range(entry_first[option], entry_first[option + 1]):
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
                change = slope * amount[e] / capacity[resource[e]]
                bend += change * amount[e] * price[resource[e]]
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
                load[r] += signed * amount[e]
                price[r] = exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]


@compiled
def highest(load: Floats, capacity: Floats) -> float:
    """Return the highest utilisation."""
    peak = 0.0
    for r in range(len(load)):
        peak = max(peak, load[r] / capacity[r])
    return peak


@compiled
def copy(source: Floats, target: Floats) -> None:
    """Copy an array."""
    for i in range(len(source)):
        target[i] = source[i]
