"""What to change of a configuration that does not fit into memory: the change that costs the least time."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.transformers.check import check_configuration
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import configuration_table
from topoopt.transformers.memory.accelerator import memory
from topoopt.transformers.memory.frameworks import find_framework
from topoopt.transformers.step_time.apnet24 import apnet24
from topoopt.transformers.step_time.closed_form import estimate
from topoopt.transformers.step_time.machine import machine_of
from topoopt.transformers.step_time.parameters import Calibration
from topoopt.transformers.system import System
from topoopt.workloads.transformer import TransformerModel

SPLIT = ("tp", "pp", "dp", "cp", "ep", "vpp")
SETTINGS = (
    *("zero", "sequence_parallel", "recompute", "micro_batch"),
    *("offload_optimizer", "offload_activations"),
)
"""What may change, beside ``recompute_layers``."""

SOME_LAYERS = (1, 2, 3, 4, 6, 8)
"""Of a chunk, which whole layers are computed again where not all of them need to be."""

SLACK = 0.005
"""Of the shortest time: of changes that cost less than this, the one of the fewest words is named."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that makes a configuration fit.

    Attributes
    ----------
    changes : mapping
        Fields of the configuration, and what they would be.
    iteration_time_s, total_bytes : float
        With the change.
    """

    changes: dict[str, Any]
    iteration_time_s: float
    total_bytes: float

    def __str__(self) -> str:
        return ", ".join(f"{name} {_shown(value)}" for name, value in self.changes.items())


def cheapest_change(
    model: TransformerModel,
    configuration: Configuration,
    system: System,
    calibration: Calibration | None,
    attention: str,
    framework: str,
) -> Remedy | None:
    """Return the change that makes a configuration fit and costs the least time; None where none is enough.

    Tried, alone and together: to share out the optimizer's state, or more or less with FSDP, to split the sequence, to
    compute parts, layers or nothing again, smaller micro-batches, more stages, tensor or context parallel ranks instead
    of replicas, experts on more ranks, fewer chunks; and where all of that is not enough, to offload what the framework
    can. The arithmetic, and what is stored in how many bits, stays as it is.
    The published formula knows no parts, no contexts and no host, so with it none of these is tried.
    """
    rules, known = find_framework(framework), calibration is not None
    recomputed = ["none", *_parts(model)] if known else ["none", "full"]
    shares = [1, 2, 3] if rules.gathers else [max(configuration.zero, 1)]
    splits = list(_splits(configuration, system.accelerators_per_server, model, known))
    to_host = known and machine_of(system).host_bytes_per_s > 0  # NaN where nobody has published it
    for offload in (False, True) if to_host else (False,):
        tried = _changed(configuration, recomputed, shares, splits, rules.offloads if offload else ())
        valid = [one for one in tried if _is_valid(model, one, configuration)]
        found = _cheapest(model, configuration, valid, system, calibration, (attention, framework))
        if found is not None:
            return found
    return None


def _cheapest(
    model: TransformerModel,
    before: Configuration,
    valid: list[Configuration],
    system: System,
    calibration: Calibration | None,
    stack: tuple[str, str],
) -> Remedy | None:
    if not valid:
        return None
    table = configuration_table(valid)
    needed = memory(model, table, system.accelerator, *stack)
    rows = np.flatnonzero(needed.fits)
    if not len(rows):
        return None
    some = table.take(rows)
    times = (
        apnet24(model, some, system) if calibration is None else estimate(model, some, system, calibration)
    )
    time_s = times.iteration_time_s
    changes = [_differences(before, valid[row]) for row in rows]
    cheap = np.flatnonzero(time_s <= (1 + SLACK) * time_s.min())
    best = min(cheap, key=lambda place: (len(changes[place]), time_s[place]))
    return Remedy(changes[best], float(time_s[best]), float(needed.total[rows[best]]))


def _parts(model: TransformerModel) -> list[str]:
    """Return what can be computed again by itself; norms and activations only where no kernel joins them to products.

    Transformer Engine joins norms to the products behind them in layers that have neither experts nor latent attention.
    """
    parts = ["core", "full"]
    if model.latent is not None:
        parts += ["norms+latent", "norms+latent+activation"]
    if model.experts is not None:
        parts += ["norms", "norms+activation", "experts", "experts+norms"]
    return parts


def _changed(
    one: Configuration,
    recomputed: list[str],
    shares: list[int],
    splits: list[dict[str, Any]],
    host: tuple[str, ...],
) -> Iterator[Configuration]:
    """Yield what could be tried, the configuration itself not among it."""
    ways: list[list[Any]] = [
        [one.zero, *shares],
        [one.sequence_parallel, True],
        [one.recompute, *recomputed] if not one.recompute_layers else [one.recompute],
        [one.micro_batch, max(one.micro_batch // 2, 1), 1],
        [one.offload_optimizer, *([1.0] if "optimizer" in host else [])],
        [one.offload_activations, *([0.5] if "activations" in host else [])],
    ]
    for values in product(*map(dict.fromkeys, ways)):
        for split in splits:
            changed = replace(one, **dict(zip(SETTINGS, values, strict=True)), **split)
            changed = replace(changed, sequence_parallel=changed.sequence_parallel and changed.tp > 1)
            if changed != one:
                yield changed
            if changed.recompute == "full" != one.recompute:
                yield from (replace(changed, recompute_layers=layers) for layers in SOME_LAYERS)


def _splits(
    one: Configuration, most_tp: int, model: TransformerModel, known: bool
) -> Iterator[dict[str, Any]]:
    """Yield other ways of splitting the job over as many accelerators."""
    yield {}
    for times in (2, 4):
        if one.dp % times == 0:
            yield {"pp": one.pp * times, "dp": one.dp // times}
            if one.vpp > 1:
                yield {"pp": one.pp * times, "dp": one.dp // times, "vpp": max(one.vpp // times, 1)}
            if one.tp * times <= most_tp:
                yield {"tp": one.tp * times, "dp": one.dp // times}
    if not known:
        return
    if one.dp % 2 == 0:
        yield {"cp": one.cp * 2, "dp": one.dp // 2}
    if model.experts is not None:
        yield from ({"ep": one.ep * times} for times in (2, 4))
    if one.vpp > 1:
        yield from ({"vpp": chunks} for chunks in dict.fromkeys((one.vpp // 2, 1)))


def _is_valid(model: TransformerModel, one: Configuration, before: Configuration) -> bool:
    try:
        check_configuration(model, one, before.accelerators, uneven_stages=one.pp == before.pp)
    except InvalidInput:
        return False
    return True


def _differences(before: Configuration, after: Configuration) -> dict[str, Any]:
    names = (*SPLIT, *SETTINGS, "recompute_layers")
    return {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}


def _shown(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else f"{value}"
