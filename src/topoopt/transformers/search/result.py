"""ConfigurationSearch: the configurations that fit, ranked, and the rows to show."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import find_accelerator
from topoopt.jobs import PublishedLayout
from topoopt.pricing import Ownership
from topoopt.transformers.configuration_table import Bools, ConfigurationTable
from topoopt.transformers.memory.accelerator import MemoryColumns
from topoopt.transformers.search.request import SearchRequest
from topoopt.transformers.step_time.calibration import Calibration, calibration_quality
from topoopt.transformers.step_time.closed_form import StepTimes
from topoopt.transformers.system import OwnedCluster


@dataclass(frozen=True, slots=True)
class NotSearched:
    """A published configuration of this model that is not among those ranked.

    Attributes
    ----------
    name : str
        Short form of its degrees, scaled to the replicas that there are accelerators for.
    source : str
        Publication.
    model, accelerator : str
        Model and accelerator that it was published for.
    accelerators : int
        Accelerators that it was published for.
    precision : str
        Published precision of matrix products.
    because : mapping
        One-line reasons for excluding it, by cause (``batch``, ``accelerators``, ``sequence``, ``divisibility``,
        ``limits``, ``schedule``, ``recompute``, ``zero``, ``words``, ``fixed``, ``memory``).
    give : mapping
        Words with which it is searched, and fits; empty where there are none.
    """

    name: str
    source: str
    model: str
    accelerator: str
    accelerators: int
    precision: str
    because: Mapping[str, str]
    give: Mapping[str, Any]

    def to_mapping(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "because": dict(self.because), "give": dict(self.give)}


SPLIT = ("tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch")
"""Rows that agree in these are variants of one another: they recompute, share out or store differently."""
VARIANT = ("zero", "recompute", "sequence_parallel", "schedule", "overlap_experts")
DOLLARS = ("usd_per_hour", "usd_per_run", "usd_per_token", "usd_per_sample")
"""Cost columns of a configuration, by the names of :class:`~topoopt.pricing.Ownership`."""


@shows_itself
@dataclass(frozen=True, eq=False)
class ConfigurationSearch:
    """The configurations that fit, the fastest first; all columns are in this order.

    Attributes
    ----------
    request : SearchRequest
    table : ConfigurationTable
    times : StepTimes
    memory : MemoryColumns
    mfu : float array
        FLOPs of the model's matrix products over those of all accelerators at their peak.
    tokens_per_s : float array
    is_variant : bool array
        Whether a faster row differs only in recomputation, sharding or sequence splitting, or the row before takes
        the same time and memory.
    valid, feasible : int
        Enumerated configurations, and those that fit.
    too_large : mapping of str to int
        Number of configurations that do not fit, by cause.
    top : int
        Number of rows shown.
    variants : bool
        Whether variants are among those.
    published : tuple of PublishedLayout
        Published training configurations of this model or a similar one, if any.
    not_searched : tuple of NotSearched
        Published configurations of this model that were not ranked, and the reasons.
    cluster : OwnedCluster or None
        Cost of the servers and the network; None where not requested.
    assumed : str
        The network that was taken because none was given.
    untried, untried_time_s : str, float
        Fastest configuration with a schedule that was not searched, and its time; empty where none is faster.
    """

    request: SearchRequest
    calibration: Calibration
    table: ConfigurationTable
    times: StepTimes
    memory: MemoryColumns
    mfu: Floats
    tokens_per_s: Floats
    is_variant: Bools
    valid: int
    feasible: int
    too_large: Mapping[str, int]
    cpu_s: float
    top: int = 10
    variants: bool = False
    published: tuple[PublishedLayout, ...] = ()
    not_searched: tuple[NotSearched, ...] = ()
    cluster: OwnedCluster | None = None
    assumed: str = ""
    untried: str = ""
    untried_time_s: float = 0.0

    def ownership(self, place: int) -> Ownership | None:
        """Return the cost of ownership with the configuration of a row."""
        if self.cluster is None:
            return None
        time_s = float(self.times.iteration_time_s[place])
        return self.cluster.training(time_s, self.request.global_batch, self.request.sequence)

    @property
    def accelerator(self) -> str:
        """The accelerator, as the catalogue calls it."""
        return find_accelerator(self.request.system.accelerator).name

    def best(self, count: int, variants: bool = False) -> Ints:
        """Return the places of the fastest rows, at most ``count``, each with or without its variants."""
        places = np.arange(len(self.table)) if variants else np.flatnonzero(~self.is_variant)
        return np.asarray(places[:count], np.int64)

    def row(self, place: int) -> dict[str, Any]:
        """Return one configuration with its time, its memory and where both go."""
        one = self.table.row(place)
        return {
            **{name: getattr(one, name) for name in (*SPLIT, *VARIANT, "micro_batches")},
            **self.times.row(place),
            "mfu": float(self.mfu[place]),
            "tokens_per_s": float(self.tokens_per_s[place]),
            "memory_bytes": {**self.memory.row(place), "total": float(self.memory.total[place])},
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every configuration that fits, the fastest first; a column for each cause of memory."""
        for place in range(self.feasible):
            row = self.row(place)
            memory_bytes = row.pop("memory_bytes")
            yield {**row, **{f"memory_{cause}_bytes": size for cause, size in memory_bytes.items()}}

    def shown(self) -> list[dict[str, Any]]:
        """Return the rows to show: the fastest :attr:`top`, with the cost of training."""
        places = self.best(self.top, self.variants).tolist()
        return [{**self.row(place), **self._dollars(place)} for place in places]

    def _dollars(self, place: int) -> dict[str, float | None]:
        owned = self.ownership(place)
        return {} if owned is None else {name: getattr(owned, name) for name in DOLLARS}

    def to_frame(self) -> Frame:
        """Return every configuration that fits as a pandas table, the fastest first."""
        return frame(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Return the answer with the rows to show as a JSON-compatible mapping."""
        request, fastest = self.request, self.ownership(0) if self.feasible else None
        settings = ("accelerators", "global_batch", "sequence", "precision", "attention", "framework")
        return {
            "model": request.model.name,
            "accelerator": self.accelerator,
            **{name: getattr(request, name) for name in settings},
            "calibration": self.calibration.name,
            "interval_share": calibration_quality(self.calibration).interval_share,
            "fixed": dict(request.fixed),
            "assumed": self.assumed,
            "memory_capacity_bytes": self.memory.capacity_bytes,
            **fields_of(self, "valid", "feasible"),
            "too_large": {
                key.replace(", ", "_").replace(" ", "_"): count for key, count in self.too_large.items()
            },
            "search_cpu_s": self.cpu_s,
            "configurations_per_s": self.valid / max(self.cpu_s, 1e-9),
            "configurations": self.shown(),
            "ownership": None if fastest is None else asdict(fastest),
            **fields_of(self, "untried", "untried_time_s"),
            "published": [dict(one.to_mapping()) for one in self.published],
            "published_not_searched": [one.to_mapping() for one in self.not_searched],
        }
