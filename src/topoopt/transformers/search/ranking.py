"""Search for the fastest training configuration of a transformer on given accelerators, in closed form.

Every valid configuration is enumerated, those that do not fit into memory are left out, and the others are ranked by
estimated iteration time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from math import prod
from time import process_time
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.units import format_memory, format_time
from topoopt.catalog import accelerators, find_accelerator
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_check import check_configuration, nearest
from topoopt.transformers.configuration_table import RARE_COLUMNS, Bools, ConfigurationTable, take_rows
from topoopt.transformers.memory.accelerator import MemoryColumns
from topoopt.transformers.memory.frameworks import find_framework, weighed_s
from topoopt.transformers.search.request import SearchRequest
from topoopt.transformers.search.result import SPLIT, ConfigurationSearch
from topoopt.transformers.step_time.calibration import Calibration
from topoopt.transformers.step_time.closed_form import estimate
from topoopt.transformers.step_time.mfu import iteration_flops

MORE = (2, 4, 8, 16, 32, 64)
"""Factors on the number of accelerators tried for a remedy."""
SAME_TIME = 1e-3
"""Configurations whose times differ by less than this share are ranked by memory, the smaller first."""


def search_configurations(request: SearchRequest, calibration: Calibration) -> ConfigurationSearch:
    """Return all configurations that fit, ranked by estimated iteration time.

    Raises
    ------
    InvalidInput
        If the accelerator lacks the precision, or no configuration is valid: the degrees, the batch and the
        model do not go together.
    Infeasible
        If none fits: with the missing memory of the nearest, and remedies.
    """
    began_s = process_time()
    calibration = calibration.with_unfused(find_framework(request.framework).unfused)
    peak = find_accelerator(request.system.accelerator).peak_flops(request.precision)
    table = request.enumerated()
    if len(table) == 0:
        raise nothing_valid(request)
    needed = request.memory(table)
    fit = needed.fits
    if not fit.any():
        raise infeasible(request, table, needed, calibration)
    kept = table.take(fit)
    times = estimate(request.model, kept, request.system, calibration, request.loads)
    needed_bytes = needed.total[fit]
    rounded = np.floor(
        np.log(weighed_s(times.iteration_time_s, needed_bytes, needed.capacity_bytes)) / np.log1p(SAME_TIME)
    )
    order = np.lexsort((times.iteration_time_s, needed_bytes, rounded))
    table_in_order = kept.take(order)
    times = take_rows(times, order)
    seconds = times.iteration_time_s
    flops = iteration_flops(request.model, kept.row(0))
    key = np.zeros(
        len(table_in_order), np.int64
    )  # one number for each row of columns: sorted ten times as fast as rows
    for name in SPLIT:
        values, place = np.unique(getattr(table_in_order, name), return_inverse=True)
        key = key * len(values) + place
    _, first = np.unique(key, return_index=True)
    variant = np.ones(len(table_in_order), bool)
    variant[first] = False
    return ConfigurationSearch(
        request,
        calibration,
        table_in_order,
        times,
        take_rows(needed, np.flatnonzero(fit)[order]),
        flops / request.accelerators / seconds / peak,
        request.global_batch * request.sequence / seconds,
        variant | _is_twin(seconds, needed.total[fit][order]),
        len(table),
        int(fit.sum()),
        too_large(needed),
        process_time() - began_s,
    )


def too_large(needed: MemoryColumns) -> Mapping[str, int]:
    """Return the number of configurations that do not fit, by the causes that exceed the memory, alone or together."""
    states = needed.parameters + needed.gradients + needed.optimizer
    over = ~needed.fits
    by_states = over & (states > needed.capacity_bytes)
    by_activations = over & ~by_states & (needed.activations > needed.capacity_bytes)
    return {
        "parameters, gradients and optimizer alone": int(by_states.sum()),
        "activations alone": int(by_activations.sum()),
        "all together": int((over & ~by_states & ~by_activations).sum()),
    }


def _is_twin(seconds: Floats, needed_bytes: Floats) -> Bools:
    """Return which rows equal the row before in time and memory: cp 2 with twice the micro-batch, say."""
    same = [np.isclose(column[1:], column[:-1], rtol=1e-6) for column in (seconds, needed_bytes)]
    return np.concatenate([[False], same[0] & same[1]])


def nothing_valid(request: SearchRequest) -> InvalidInput:
    """Return the error for options that together allow no valid configuration.

    Each fixed option is released in turn, rare ones first; with the first that leaves some configurations, the
    plainest of these is refused with the reason by that option. If the batch alone is the obstacle, the possible
    replicas are named.
    """
    fixed: dict[str, Any] = dict(request.fixed)
    inside = prod(int(fixed.get(name, 1)) for name in ("tp", "pp", "cp"))
    usual = {"tp": 1, "pp": 1, "dp": max(request.accelerators // inside, 1)}
    batch = {"global_batch": request.global_batch, "sequence": request.sequence}
    plainest = Configuration(**{**usual, **batch, "precision": request.precision, **fixed})
    plain = _refusal(request, plainest)
    if plain is not None and not request.fixed and "global_batch" not in str(plain):
        return plain
    too_few = _of_batch(request)
    if too_few is not None:
        return too_few
    for name, table in _released(request):
        refusal = _refusal(request, _with_word(request, name, table))
        if refusal is not None:
            return refusal
    if plain is not None:
        return plain
    return InvalidInput(
        f"no valid configuration of {request.model.name} on {request.accelerators:,} accelerators with a batch of "
        f"{request.global_batch:,} lies within these limits; raise them, or fix fewer degrees"
    )


def _released(request: SearchRequest) -> Iterator[tuple[str, ConfigurationTable]]:
    """Yield each fixed option without which there are valid configurations, and these."""
    for name in sorted(request.fixed, key=lambda name: name not in RARE_COLUMNS):
        kept = {other: value for other, value in request.fixed.items() if other != name}
        table = replace(request, fixed=kept).enumerated()
        if len(table):
            yield name, table


def _with_word(request: SearchRequest, name: str, table: ConfigurationTable) -> Configuration:
    """Return the plainest of some configurations, one that computes again if any does, with its fixed options.

    Replicas are then as many as the accelerators leave.
    """
    again = np.flatnonzero(table.recomputes("full"))
    one = table.row(int(again[0]) if len(again) else 0)
    fixed: dict[str, Any] = {name: request.fixed[name]}
    changed = replace(one, **fixed)
    if name == "dp":
        return changed
    inside = changed.tp * changed.pp * changed.cp
    return replace(changed, dp=int(request.fixed.get("dp", max(request.accelerators // inside, 1))))


def _of_batch(request: SearchRequest) -> InvalidInput | None:
    """Return the error for a batch if any other size would do; None if it is not the reason."""
    table = replace(request, global_batch=request.accelerators * 2**20).enumerated()
    if not len(table):
        return None
    steps = np.unique(table.dp * table.micro_batch)
    if (request.global_batch % steps == 0).any():
        return None
    around = sorted({n for step in steps.tolist() for n in _multiples(request.global_batch, step)})
    return InvalidInput(
        f"global_batch {request.global_batch}: no multiple of replicas x micro-batch, which are {steps[0]} or more on "
        f"{request.accelerators:,} accelerators with all that is fixed; {nearest(request.global_batch, around)}"
    )


def _multiples(value: int, step: int) -> tuple[int, ...]:
    below = value // step * step
    return (below, below + step) if below else (step,)


def _refusal(request: SearchRequest, one: Configuration) -> InvalidInput | None:
    try:
        check_configuration(request.model, one, request.accelerators, request.limits.uneven_stages)
    except InvalidInput as error:
        return error
    return None


def infeasible(
    request: SearchRequest, table: ConfigurationTable, needed: MemoryColumns, calibration: Calibration
) -> Infeasible:
    """Return the error if no configuration fits."""
    nearest = int(np.argmin(needed.total))
    total, capacity = float(needed.total[nearest]), needed.capacity_bytes
    part = find_accelerator(request.system.accelerator)
    causes = needed.row(nearest)
    cause = max(causes, key=causes.__getitem__)
    return Infeasible(
        f"{request.model.name} does not fit on {request.accelerators:,} {part.name}: the smallest of {len(table):,} "
        f"configurations, {in_short(table.row(nearest))}, needs {format_memory(total)} of {format_memory(capacity)} "
        f"an accelerator, {format_memory(total - capacity)} too much ({cause}: {format_memory(causes[cause])}); "
        f"{_remedies(request, total, calibration)}"
    )


def in_short(one: Configuration) -> str:
    """Return a short description of a configuration.

    Examples
    --------
    >>> in_short(Configuration(tp=8, pp=4, dp=2, global_batch=16, sequence=64, zero=1, recompute="full"))
    'tp 8, pp 4, dp 2, micro-batch 1, zero 1, recompute full'
    """
    degrees = [f"{name} {getattr(one, name)}" for name in ("tp", "pp", "dp")]
    degrees += [
        f"{name} {getattr(one, name)}" for name in ("cp", "ep", "etp", "vpp") if getattr(one, name) > 1
    ]
    rest = [f"micro-batch {one.micro_batch}", f"zero {one.zero}", f"recompute {one.recompute}"]
    rest += [f"{name} {value}" for name, value in one.unusual.items()]
    return ", ".join([*degrees, *rest])


def _remedies(request: SearchRequest, total: float, calibration: Calibration) -> str:
    """Return remedies: the cheapest change of fixed options, more accelerators, or other accelerators."""
    remedies = [_infeasible_released(request, calibration)] if request.fixed else []
    for scale in MORE:
        table = request.enumerated(scale)
        if len(table) and request.memory(table).fits.any():
            remedies.append(f"{request.accelerators * scale:,} accelerators would suffice")
            break
    grouped = [part for part in accelerators() if part.scale_up_domain != "1"]  # no desktops
    larger = [part for part in grouped if part.usable_memory_bytes >= total]
    if larger:
        least = min(larger, key=lambda part: part.usable_memory_bytes)
        remedies.append(f"as many {least.name} ({format_memory(least.usable_memory_bytes)})")
    searched = [name for name in request.fixed if name not in RARE_COLUMNS]
    if searched:
        remedies.append(f"let {', '.join(searched)} be searched, too")
    return ", or ".join(filter(None, remedies)) or "give more accelerators, or ones with more memory"


def _infeasible_released(request: SearchRequest, calibration: Calibration) -> str:
    """Return the fastest configuration with one or two changed options, as text; empty if none fits."""
    for count in (1, 2):
        ways = []
        for names in combinations(request.fixed, count):
            kept = {name: value for name, value in request.fixed.items() if name not in names}
            freer = replace(request, fixed=kept)
            table = freer.enumerated()
            table = table.take(freer.memory(table).fits) if len(table) else table
            if not len(table):
                continue
            seconds = estimate(
                request.model, table, request.system, calibration, request.loads
            ).iteration_time_s
            best = int(np.argmin(seconds))
            ways.append((float(seconds[best]), names, table.row(best)))
        if ways:
            seconds_s, names, one = min(ways, key=lambda way: way[0])
            changed = " and ".join(
                f"{name} {getattr(one, name)} instead of {request.fixed[name]}" for name in names
            )
            return f"the cheapest change is {changed} ({format_time(seconds_s)} an iteration)"
    return ""
