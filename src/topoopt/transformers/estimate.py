"""Estimate: time, rates and memory of one training configuration of a transformer."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.base.units import interval_s
from topoopt.catalog import find_accelerator
from topoopt.jobs import is_tight
from topoopt.pricing import Ownership
from topoopt.schema.words import as_flags
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_check import check_configuration
from topoopt.transformers.configuration_table import configuration_table
from topoopt.transformers.defaults import recomputations, recomputed_parts
from topoopt.transformers.expert_loads import ExpertLoads
from topoopt.transformers.memory.accelerator import MemoryColumns, memory
from topoopt.transformers.memory.frameworks import find_framework, shared_by
from topoopt.transformers.pipeline_chunks import communication_windows
from topoopt.transformers.step_time.apnet24 import apnet24
from topoopt.transformers.step_time.attention_time import imbalance
from topoopt.transformers.step_time.calibration import Calibration, Quality, calibration_quality, peak_rates
from topoopt.transformers.step_time.closed_form import STEP_PARTS, StepTimes, estimate
from topoopt.transformers.step_time.collective_time import machine_of
from topoopt.transformers.step_time.mfu import iteration_flops, mfu
from topoopt.transformers.system import OwnedCluster, System
from topoopt.workloads.transformer import TransformerModel

SPLIT = ("tp", "pp", "dp", "cp", "ep", "vpp")
SETTINGS = (
    *("zero", "sequence_parallel", "recompute", "micro_batch"),
    *("offload_optimizer", "offload_activations"),
)
"""Fields that a remedy may change, besides ``recompute_layers``."""
SOME_LAYERS = (1, 2, 3, 4, 6, 8)
"""Numbers of layers of a chunk that are recomputed, where not all of them need to be."""
SLACK = 0.005
"""Fraction of the shortest time: among changes that cost less than this, the one with the fewest fields is chosen."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that makes a configuration fit.

    Attributes
    ----------
    changes : mapping
        Fields of the configuration, and their new values.
    iteration_time_s, total_bytes : float
        Time and memory with the change.
    """

    changes: dict[str, Any]
    iteration_time_s: float
    total_bytes: float

    def __str__(self) -> str:
        return as_flags(self.changes)


ANSWERS = (
    *("accelerator", "transferred_from", "attention", "framework", "assumed", "fits", "tight"),
    *("memory_bytes", "imbalance", "mfu", "flops_per_accelerator", "flops_per_iteration", "tokens_per_s"),
)
"""Fields and properties of an :class:`Estimate` that its JSON has by the same names."""


@shows_itself
@dataclass(frozen=True, eq=False)
class Estimate:
    """Time and memory of one iteration.

    Attributes
    ----------
    calibration : Calibration or None
        None for the published formula.
    attention : str
        Implementation of the attention's core, in the time and in the memory.
    framework : str
        One of :data:`~topoopt.transformers.FRAMEWORKS`.
    times : StepTimes
        One row.
    memory : MemoryColumns
        One row: the fullest accelerator.
    flops_per_iteration : float
        FLOPs of the model's matrix products, forward and backward, without recomputation.
    mfu : float
        Model FLOPs utilization: these FLOPs over the peak of all accelerators.
    cluster : OwnedCluster or None
        Cost of the servers and the network; None where not requested.
    assumed : str
        Recomputation chosen because none was given and nothing less fits; empty otherwise.
    """

    model: TransformerModel
    configuration: Configuration
    system: System
    calibration: Calibration | None
    attention: str
    framework: str
    times: StepTimes
    memory: MemoryColumns
    flops_per_iteration: float
    mfu: float
    cluster: OwnedCluster | None = None
    assumed: str = ""

    @property
    def ownership(self) -> Ownership | None:
        """Total cost of servers, network and electricity."""
        one = self.configuration
        if self.cluster is None:
            return None
        return self.cluster.training(self.iteration_time_s, one.global_batch, one.sequence)

    @property
    def accelerator(self) -> str:
        """The accelerator, as the catalogue calls it."""
        return find_accelerator(self.system.accelerator).name

    @property
    def iteration_time_s(self) -> float:
        """Seconds of an iteration."""
        return float(self.times.iteration_time_s[0])

    @property
    def flops_per_accelerator(self) -> float:
        """Model FLOP/s of each accelerator."""
        return self.flops_per_iteration / self.iteration_time_s / self.configuration.accelerators

    @property
    def tokens_per_s(self) -> float:
        """Tokens that are trained in a second."""
        return self.configuration.global_batch * self.configuration.sequence / self.iteration_time_s

    @property
    def parts_s(self) -> dict[str, float]:
        """Seconds of each of :data:`STEP_PARTS`."""
        return {name: float(getattr(self.times, name)[0]) for name in STEP_PARTS}

    @property
    def memory_bytes(self) -> dict[str, float]:
        """Bytes on the fullest accelerator by cause, and their ``total``."""
        return {**self.memory.row(0), "total": float(self.memory.total[0])}

    @property
    def imbalance(self) -> float:
        """Relative slowdown of attention's core by uneven packed sequences; 0 for ``apnet24``."""
        if self.calibration is None or self.attention != "fused":
            return 0.0
        return float(imbalance(configuration_table([self.configuration]))[0])

    @property
    def fits(self) -> bool:
        """Whether it fits into memory."""
        return bool(self.memory.fits[0])

    @property
    def tight(self) -> bool:
        """Whether it fits, but leaves next to nothing free: estimates of memory are good to some GiB."""
        return is_tight(float(self.memory.total[0]), self.memory.capacity_bytes)

    @property
    def missing_bytes(self) -> float:
        """Memory that it lacks; 0 where it fits."""
        return max(float(self.memory.total[0]) - self.memory.capacity_bytes, 0.0)

    @property
    def largest_cause(self) -> str:
        """Largest cause of memory."""
        causes = self.memory.row(0)
        return max(causes, key=causes.__getitem__)

    @cached_property
    def remedy(self) -> Remedy | None:
        """The cheapest change that makes it fit; None where it fits, or none was found."""
        if self.fits:
            return None
        return cheapest_change(
            self.model, self.configuration, self.system, self.calibration, self.attention, self.framework
        )

    @property
    def transferred_from(self) -> str | None:
        """The accelerator whose runs the calibration is carried over from, if its own has none."""
        return None if self.calibration is None else self.calibration.provenance.get("transferred_from")

    @property
    def quality(self) -> Quality | None:
        """Basis of the calibration; None for the published formula."""
        return None if self.calibration is None else calibration_quality(self.calibration)

    @cached_property
    def communication(self) -> tuple[dict[str, str | float], ...]:
        """Times of communication and their exposed parts; empty for the published formula."""
        if self.calibration is None:
            return ()
        return communication_windows(self.model, self.configuration, self.system, self.calibration)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        calibration = self.calibration
        return {
            "model": self.model.name,
            "accelerators": self.configuration.accelerators,
            "configuration": asdict(self.configuration),
            "system": asdict(self.system),
            "estimator": "apnet24" if calibration is None else "calibrated",
            "calibration": None if calibration is None else calibration.name,
            "calibrated_on": None if calibration is None else calibration.accelerator,
            "calibration_quality": None if self.quality is None else asdict(self.quality),
            **self.times.row(0),
            **interval_s(
                "iteration_time",
                self.iteration_time_s,
                None if self.quality is None else self.quality.interval_share,
            ),
            "communication": self.communication,
            "memory_capacity_bytes": self.memory.capacity_bytes,
            **fields_of(self, "missing_bytes", "largest_cause"),
            "remedy": None if self.remedy is None else asdict(self.remedy),
            **{name: getattr(self, name) for name in ANSWERS},
            "ownership": None if self.ownership is None else asdict(self.ownership),
        }


def estimate_configuration(
    model: TransformerModel,
    configuration: Configuration,
    system: System,
    calibration: Calibration | None,
    attention: str | None = None,
    framework: str = "megatron",
    loads: ExpertLoads | None = None,
) -> Estimate:
    """Return time and memory of one training configuration.

    Parameters
    ----------
    calibration : Calibration or None
        Calibration with one attention; None for the published formula, see :func:`~topoopt.transformers.apnet24`.
    attention : str, optional
        Attention for the published formula, which has none: ``fused`` or ``eager``.
    loads : ExpertLoads, optional
        Loads of the experts; even by default.

    Raises
    ------
    InvalidInput
        If the accelerator lacks the precision, or for an unknown framework.
    """
    table = shared_by(configuration_table([configuration]), framework)
    if calibration is None:
        kernel, times = attention or "fused", apnet24(model, table, system)
    else:
        calibration = calibration.with_unfused(find_framework(framework).unfused)
        kernel, times = calibration.attention, estimate(model, table, system, calibration, loads)
    flops = iteration_flops(model, configuration)
    part, precision = find_accelerator(system.accelerator), configuration.precision
    peak = part.peak_flops(precision) if part.peaks else peak_rates(part.name)[precision]
    return Estimate(
        model,
        configuration,
        system,
        calibration,
        kernel,
        framework,
        times,
        memory(model, table, system.accelerator, kernel, framework),
        flops,
        mfu(flops, float(times.iteration_time_s[0]), configuration.accelerators, peak),
    )


def with_least_recomputation(estimate: Estimate, further: tuple[Any, ...]) -> Estimate:
    """Return an estimate with the fastest recomputation that fits, or as it is where none is enough.

    The ``further`` arguments are those of :func:`estimate_configuration` behind the calibration.
    """
    model, one, system, law = estimate.model, estimate.configuration, estimate.system, estimate.calibration
    ways = recomputations(model, one, system.accelerator, estimate.framework)[1:]
    found = _cheapest(model, one, ways, system, law, (estimate.attention, estimate.framework))
    if found is None:
        return estimate
    needed, capacity = estimate.memory_bytes["total"] / 2**30, estimate.memory.capacity_bytes / 2**30
    answer = estimate_configuration(model, replace(one, **found.changes), system, law, *further)
    why = f"because without it {needed:.3g} of {capacity:.3g} GiB are needed"
    return replace(answer, assumed=f"{found}, {why}")


def cheapest_change(
    model: TransformerModel,
    configuration: Configuration,
    system: System,
    calibration: Calibration | None,
    attention: str,
    framework: str,
) -> Remedy | None:
    """Return the change that makes a configuration fit and costs the least time; None where none is enough.

    Tried, alone and together: sharding the optimizer's state, or more or less with FSDP, splitting the sequence,
    recomputing parts, layers or nothing, smaller micro-batches, more stages, tensor or context parallel ranks
    instead of replicas, experts on more ranks, fewer chunks; and where all of that is not enough, offloading as
    far as the framework can. The arithmetic and the stored precisions stay as they are. The published formula has
    no terms for parts, contexts and the host, so with it none of these is tried.
    """
    rules, known = find_framework(framework), calibration is not None
    recomputed = ["none", *recomputed_parts(model, framework)] if known else ["none", "full"]
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


def _changed(
    one: Configuration,
    recomputed: list[str],
    shares: list[int],
    splits: list[dict[str, Any]],
    host: tuple[str, ...],
) -> Iterator[Configuration]:
    """Yield the changes to try, without the configuration itself."""
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
    """Yield other splits of the job over the same number of accelerators."""
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
