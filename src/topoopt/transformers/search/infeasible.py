"""What to say when no configuration fits: the nearest, by how much it is too large, and what would help."""

from dataclasses import replace
from itertools import combinations

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.base.units import format_memory, format_time
from topoopt.catalog import accelerators, find_accelerator
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import RARE_COLUMNS, ConfigurationTable
from topoopt.transformers.memory.accelerator import MemoryColumns
from topoopt.transformers.memory.frameworks import capacity_bytes
from topoopt.transformers.search.request import SearchRequest
from topoopt.transformers.step_time.closed_form import estimate
from topoopt.transformers.step_time.parameters import Calibration

MORE = (2, 4, 8, 16, 32, 64)
"""Times the accelerators that are tried for a remedy."""


def infeasible(
    request: SearchRequest, table: ConfigurationTable, needed: MemoryColumns, calibration: Calibration
) -> Infeasible:
    """Return the error for configurations none of which fits."""
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
    """Return a configuration in a few words.

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
    """Name the cheapest change of what is fixed, and more accelerators, and other accelerators, that would do."""
    remedies = [_released(request, calibration)] if request.fixed else []
    for scale in MORE:
        table = request.enumerated(scale)
        if len(table) and request.memory(table).fits.any():
            remedies.append(f"{request.accelerators * scale:,} of them would do")
            break
    larger = sorted((part for part in accelerators() if capacity_bytes(part) >= total), key=capacity_bytes)
    if larger:
        remedies.append(f"as many {larger[0].name} ({format_memory(capacity_bytes(larger[0]))})")
    searched = [name for name in request.fixed if name not in RARE_COLUMNS]
    if searched:
        remedies.append(f"let {', '.join(searched)} be searched, too")
    return ", or ".join(filter(None, remedies)) or "give more accelerators, or ones with more memory"


def _released(request: SearchRequest, calibration: Calibration) -> str:
    """Return the fastest configuration with one or two other values than are fixed, in words; nothing if none fits."""
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
