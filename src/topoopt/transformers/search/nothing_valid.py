"""What to say when no configuration is valid: which of what is given does not go with the rest, and why."""

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.transformers.check import check_configuration, nearest
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import RARE_COLUMNS, ConfigurationTable
from topoopt.transformers.search.request import SearchRequest


def nothing_valid(request: SearchRequest) -> InvalidInput:
    """Return the error for words, none of which together with the others leaves a valid configuration.

    Each fixed word is let go in turn, those that few configurations have first; with the first that leaves some the
    plainest of these is refused for what that word says. Where the batch alone is in the way, the replicas that there
    can be are named.
    """
    plain = _refusal(request, _plainest(request))
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
    """Yield each fixed word without which there are valid configurations, and these."""
    for name in sorted(request.fixed, key=lambda name: name not in RARE_COLUMNS):
        kept = {other: value for other, value in request.fixed.items() if other != name}
        table = replace(request, fixed=kept).enumerated()
        if len(table):
            yield name, table


def _with_word(request: SearchRequest, name: str, table: ConfigurationTable) -> Configuration:
    """Return the plainest of some configurations, one that computes again if any does, with what is fixed of it.

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
    """Return what is wrong with a batch if any other of its size would do; None if it is not the reason."""
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


def _plainest(request: SearchRequest) -> Configuration:
    fixed: dict[str, Any] = dict(request.fixed)
    inside = prod(int(fixed.get(name, 1)) for name in ("tp", "pp", "cp"))
    usual = {"tp": 1, "pp": 1, "dp": max(request.accelerators // inside, 1)}
    batch = {"global_batch": request.global_batch, "sequence": request.sequence}
    return Configuration(**{**usual, **batch, "precision": request.precision, **fixed})


def _refusal(request: SearchRequest, one: Configuration) -> InvalidInput | None:
    try:
        check_configuration(request.model, one, request.accelerators, request.limits.uneven_stages)
    except InvalidInput as error:
        return error
    return None
