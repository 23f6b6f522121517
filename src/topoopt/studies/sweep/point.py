"""Task and Answer: points that share a plan, and the result of each."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import groupby
from typing import Any, Final, Protocol

from topoopt.base.answers import digest, fields_of
from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, TransformerWork, job_mfu
from topoopt.schema.files import noun_from
from topoopt.search import SearchOptions
from topoopt.workloads import ParallelStrategy

DEGREES: Final = ("tp", "pp", "dp", "cp", "ep", "vpp", "micro_batch")
"""Degrees of a configuration, one column each."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One fabric for one job, and how both are counted, searched and simulated; without defaults.

    Attributes
    ----------
    model : str
        A model of the zoo, or the path of a job file as the sweep file has it.
    fabric : str
        ``topoopt``, or the key of a :class:`topoopt.catalog.Sizing`.
    batch_per_accelerator : int
        0 for the model's own.
    bandwidth_bps : float
        Bandwidth per interface. This and the following are the fields of ClusterSpec, JobSettings and SearchOptions.
    preset : str
        The preset that the rules of finder and search started from; they themselves are fields of their own.
    collective : str
        A name in :data:`topoopt.collectives.COLLECTIVE_NAMES`: rings in rounds or as one flow, or an algorithm.
    prices, accounting : str
        Price list, and accounting.
    training : str
        Training options of a transformer that the sweep gives (batch, sequence and more), as written by
        :func:`topoopt.jobs.text_of_training`. Options in a job file stay there. Empty for other jobs.
    inputs : str
        Digests of the files that the point is made of, as ``name=sha256:...`` with commas; empty for none.
    """

    model: str
    servers: int
    degree: int
    bandwidth_bps: float
    fabric: str
    seed: int
    batch_per_accelerator: int
    accelerators_per_server: int
    accelerator: str
    intra_server_bandwidth_bps: float
    link_latency_s: float
    links: str
    compute: str
    precision: str
    embedding_bytes_factor: int
    memory_check: str
    optimizer: str
    bucket_bytes: int
    microbatches: int
    preset: str
    mode: str
    degree_split: str
    strides: str
    damping: str
    routing: str
    budget: int
    baseline_budget: int
    chains: int
    rounds: int
    alpha_per_ms: float
    balance: bool
    simulator: str
    collective: str
    prices: str
    accounting: str
    training: str
    inputs: str

    @cached_property
    def digest(self) -> str:
        """Identifier of the point: the SHA-256 of all its settings."""
        return _digest(fields_of(self, *POINT_FIELDS))

    @cached_property
    def plan_digest(self) -> str:
        """Equal for points that need the same plan: they differ in the comparison only."""
        return _digest({name: getattr(self, name) for name in POINT_FIELDS if name not in AFTER_THE_PLAN})

    def cluster(self) -> ClusterSpec:
        """Return the point's cluster.

        Raises
        ------
        InvalidInput
            As ClusterSpec.
        """
        return noun_from(ClusterSpec, self, link_bandwidth_bps=self.bandwidth_bps)

    def settings(self) -> JobSettings:
        """Return the cost model of the job."""
        return noun_from(JobSettings, self)

    def options(self) -> SearchOptions:
        """Return the search options for one process: a sweep has its processes elsewhere."""
        return noun_from(SearchOptions, self, processes=1)


POINT_FIELDS = tuple(field.name for field in fields(Point))
AFTER_THE_PLAN = frozenset({"fabric", "simulator", "prices", "accounting"})
"""Fields that the plan of a point does not depend on."""
SETTINGS_FIELDS = tuple(field.name for field in fields(JobSettings))
OPTION_FIELDS = tuple(field.name for field in fields(SearchOptions) if field.name != "processes")
OK, INFEASIBLE, FAILED = "ok", "infeasible", "failed"
"""``infeasible``: there is no answer, a retry would not help. ``failed``: an error; the next run tries again."""


@dataclass(frozen=True, slots=True)
class Task:
    """Points with one plan, computed one after the other; job files of theirs lie in ``folder``."""

    points: tuple[Point, ...]
    folder: str = "."


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of a point.

    Attributes
    ----------
    status : str
        :data:`OK`, :data:`INFEASIBLE` or :data:`FAILED`.
    error : str
        Reason why there is no result, in one line; empty if there is one.
    values : mapping
        Results by column; empty if there is none.
    cpu_s : float
        Processor time of this point, with that of the plan if it was made for it.
    """

    point: Point
    status: str
    error: str
    values: Mapping[str, Any]
    cpu_s: float


class Crew(Protocol):
    """Executor of plans: processes of this host, or hosts of a Ray cluster."""

    def __call__(self, tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        """Yield the answers in any order; ``on_start`` is called before each task."""
        ...


def tasks_of(points: Iterable[Point], folder: str) -> tuple[Task, ...]:
    """Return the points in tasks, in the order of the first point of each."""
    first: dict[str, int] = {}
    ordered = sorted(points, key=lambda point: first.setdefault(point.plan_digest, len(first)))
    groups = groupby(ordered, key=lambda point: point.plan_digest)
    return tuple(Task(tuple(group), folder) for _, group in groups)


def _digest(settings: dict[str, object]) -> str:
    return digest(json.dumps(settings, sort_keys=True).encode())


def layout_values(job: Job, strategy: ParallelStrategy, iteration_time_s: float) -> dict[str, Any]:
    """Return the columns that only transformers have; empty for other jobs."""
    work = job.work
    if not isinstance(work, TransformerWork):
        return {}
    layout = work.layout(strategy)
    return {
        "sequence": work.sequence,
        "tokens_per_s": work.tokens_per_s(iteration_time_s),
        "mfu": job_mfu(job, iteration_time_s),
        "memory_bytes": layout.total_memory_bytes,
        **{name: layout.configuration.get(name, 1) for name in DEGREES},
    }
