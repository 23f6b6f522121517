"""Why a published way of training is not among the first: what the fastest does otherwise, and what that saves."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.transformers.check import check_configuration
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import configuration_table
from topoopt.transformers.search.result import ConfigurationSearch
from topoopt.transformers.step_time.closed_form import estimate

AMONG_THE_FIRST = 0.05
"""Share of the list within which nothing is to be explained."""

WORTH_SAYING = 0.005
"""Share of the time that a difference saves at least."""

MOST_STEPS = 3

DEGREES = ("tp", "pp", "dp", "cp", "ep", "etp", "vpp")
ALONE = ("micro_batch", "recompute", "zero", "vpp")


def why_slower(search: ConfigurationSearch, one: Configuration, rank: int) -> Mapping[str, float]:
    """Return what the fastest configuration does otherwise, with the share of the time that it saves.

    Words are changed to those of the fastest one after the other, first that which saves most, as long as the result is
    valid and fits; each share is of the time before. Nothing for one that stands among the first of the list.
    """
    if rank <= AMONG_THE_FIRST * len(search.table):
        return {}
    best = search.table.row(int(np.argmin(search.times.iteration_time_s)))
    saved: dict[str, float] = {}
    here_s = _times_s(search, [one])[0][0]
    while len(saved) < MOST_STEPS:
        steps = dict(_steps(search, one, best))
        if not steps:
            break
        seconds, fits = _times_s(search, list(steps.values()))
        seconds = np.where(fits, seconds, np.inf)
        place = int(np.argmin(seconds))
        share = 1 - float(seconds[place] / here_s)
        if share < WORTH_SAYING:
            break
        words, one = list(steps.items())[place]
        saved[words], here_s = share, seconds[place]
    return saved


def _steps(
    search: ConfigurationSearch, one: Configuration, best: Configuration
) -> Iterator[tuple[str, Configuration]]:
    """Yield every valid configuration with one more word of the best, and that word."""
    for names in (*((name,) for name in ALONE), DEGREES):
        changed: dict[str, Any] = {
            name: getattr(best, name) for name in names if getattr(best, name) != getattr(one, name)
        }
        if not changed:
            continue
        with suppress(InvalidInput):
            other = replace(one, **changed)
            check_configuration(search.request.model, other, search.request.accelerators, uneven_stages=True)
            yield " ".join(f"{name} {value}" for name, value in changed.items()), other


def _times_s(search: ConfigurationSearch, configurations: list[Configuration]) -> tuple[Any, Any]:
    """Return seconds in closed form, and which fit."""
    request, table = search.request, configuration_table(configurations)
    times = estimate(request.model, table, request.system, search.calibration, request.loads)
    return times.iteration_time_s, request.memory(table).fits
