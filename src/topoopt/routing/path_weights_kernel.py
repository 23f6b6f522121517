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
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import concurrent_entry, spliced, stamp, stamped
from topoopt.routing.option_weights_kernel import copy, highest

STAMP = stamp([Path(__file__), Path(__file__).with_name("option_weights_kernel.py")])
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
            price[r] = math.exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]
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
                price[r] = math.exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]
