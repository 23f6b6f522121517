"""The search for the fastest way to train a transformer on so many accelerators, in closed form.

Every valid configuration is enumerated, those that do not fit into memory are left out, and the others are ranked by
estimated iteration time.
"""

from collections.abc import Mapping
from time import process_time

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import find_accelerator
from topoopt.transformers.columns import Bools, take_rows
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.memory.accelerator import MemoryColumns
from topoopt.transformers.memory.frameworks import find_framework
from topoopt.transformers.memory.headroom import weighed_s
from topoopt.transformers.search.infeasible import infeasible
from topoopt.transformers.search.nothing_valid import nothing_valid
from topoopt.transformers.search.request import SearchRequest
from topoopt.transformers.search.result import SPLIT, ConfigurationSearch
from topoopt.transformers.step_time.closed_form import estimate
from topoopt.transformers.step_time.mfu import iteration_flops
from topoopt.transformers.step_time.parameters import Calibration

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
        If none fits: by how much the nearest is too large, and what would help.
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
    order = _ranking(times.iteration_time_s, needed.total[fit], needed.capacity_bytes)
    table_in_order = kept.take(order)
    times = take_rows(times, order)
    seconds = times.iteration_time_s
    flops = iteration_flops(request.model, kept.row(0))
    return ConfigurationSearch(
        request,
        calibration,
        table_in_order,
        times,
        take_rows(needed, np.flatnonzero(fit)[order]),
        flops / request.accelerators / seconds / peak,
        request.global_batch * request.sequence / seconds,
        _is_variant(table_in_order) | _is_twin(seconds, needed.total[fit][order]),
        len(table),
        int(fit.sum()),
        too_large(needed),
        process_time() - began_s,
    )


def too_large(needed: MemoryColumns) -> Mapping[str, int]:
    """Return why configurations do not fit, by what alone or together is more than an accelerator holds."""
    states = needed.parameters + needed.gradients + needed.optimizer
    over = ~needed.fits
    by_states = over & (states > needed.capacity_bytes)
    by_activations = over & ~by_states & (needed.activations > needed.capacity_bytes)
    return {
        "parameters, gradients and optimizer alone": int(by_states.sum()),
        "activations alone": int(by_activations.sum()),
        "all together": int((over & ~by_states & ~by_activations).sum()),
    }


def _ranking(seconds: Floats, needed_bytes: Floats, capacity_bytes: float) -> Ints:
    rounded = np.floor(np.log(weighed_s(seconds, needed_bytes, capacity_bytes)) / np.log1p(SAME_TIME))
    return np.lexsort((seconds, needed_bytes, rounded))


def _is_variant(table: ConfigurationTable) -> Bools:
    key = np.zeros(
        len(table), np.int64
    )  # one number for each row of columns: sorted ten times as fast as rows
    for name in SPLIT:
        values, place = np.unique(getattr(table, name), return_inverse=True)
        key = key * len(values) + place
    _, first = np.unique(key, return_index=True)
    variant = np.ones(len(table), bool)
    variant[first] = False
    return variant


def _is_twin(seconds: Floats, needed_bytes: Floats) -> Bools:
    """Return which rows take the time and the memory of the row before: cp 2 with twice the micro-batch, say."""
    same = [np.isclose(column[1:], column[:-1], rtol=1e-6) for column in (seconds, needed_bytes)]
    return np.concatenate([[False], same[0] & same[1]])
