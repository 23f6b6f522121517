"""The noun Estimate: time, rates and memory of one way of training a transformer."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from topoopt.base.door import shows_itself
from topoopt.catalog import find_accelerator
from topoopt.jobs import is_tight
from topoopt.pricing import Ownership
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import configuration_table
from topoopt.transformers.experts.loads import ExpertLoads
from topoopt.transformers.memory.accelerator import MemoryColumns, memory
from topoopt.transformers.memory.frameworks import find_framework, shared_by
from topoopt.transformers.owned_cluster import OwnedCluster
from topoopt.transformers.remedy import Remedy, cheapest_change
from topoopt.transformers.step_time.apnet24 import apnet24
from topoopt.transformers.step_time.closed_form import estimate
from topoopt.transformers.step_time.documents import imbalance
from topoopt.transformers.step_time.mfu import iteration_flops, mfu
from topoopt.transformers.step_time.parameters import Calibration
from topoopt.transformers.step_time.quality import Quality, calibration_quality
from topoopt.transformers.step_time.relatives import peak_rates
from topoopt.transformers.step_time.times import STEP_PARTS, StepTimes
from topoopt.transformers.system import System
from topoopt.workloads.transformer import TransformerModel

ANSWERS = (
    *("accelerator", "transferred_from", "attention", "framework", "fits", "tight", "memory_bytes"),
    *("imbalance", "mfu", "flops_per_accelerator", "flops_per_iteration", "tokens_per_s"),
)
"""Fields and properties of an :class:`Estimate` that its JSON has by the same names."""


@shows_itself
@dataclass(frozen=True, eq=False)
class Estimate:
    """What one iteration takes and needs.

    Attributes
    ----------
    calibration : Calibration or None
        None for the published formula.
    attention : str
        How the attention's core runs, in the time and in the memory.
    framework : str
        One of :data:`~topoopt.transformers.FRAMEWORKS`.
    times : StepTimes
        One row.
    memory : MemoryColumns
        One row: the fullest accelerator.
    flops_per_iteration : float
        Of the model's matrix products, forward and backward, without recomputation.
    mfu : float
        Those over what all accelerators could do at their peak.
    cluster : OwnedCluster or None
        What the machines cost; None where that is not asked.
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

    @property
    def ownership(self) -> Ownership | None:
        """What servers, network and electricity cost together."""
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
        """By which share attention's core takes longer because packed sequences are not alike; 0 for ``apnet24``."""
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
        """By how much it is too large for the memory; 0 where it fits."""
        return max(float(self.memory.total[0]) - self.memory.capacity_bytes, 0.0)

    @property
    def largest_cause(self) -> str:
        """What takes most of the memory."""
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
        """What the calibration rests on; None for the published formula."""
        return None if self.calibration is None else calibration_quality(self.calibration)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain values."""
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
            "memory_capacity_bytes": self.memory.capacity_bytes,
            "missing_bytes": self.missing_bytes,
            "largest_cause": self.largest_cause,
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
    """Return what one way of training takes and needs.

    Parameters
    ----------
    calibration : Calibration or None
        With one attention; None for the published formula, see :func:`~topoopt.transformers.apnet24`.
    attention : str, optional
        For the published formula, which has none: ``fused`` or ``eager``.
    loads : ExpertLoads, optional
        Of the experts; even if not given.

    Raises
    ------
    InvalidInput
        If the accelerator lacks the precision, or for an unknown framework.
    """
    table = shared_by(configuration_table([configuration]), framework)
    if calibration is not None:
        calibration = calibration.with_unfused(find_framework(framework).unfused)
    kernel = (attention or "fused") if calibration is None else calibration.attention
    times = (
        apnet24(model, table, system)
        if calibration is None
        else estimate(model, table, system, calibration, loads)
    )
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
