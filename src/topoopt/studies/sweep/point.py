"""The noun Point: one cell of a sweep, with every setting that its result depends on."""

import json
from dataclasses import dataclass, fields
from functools import cached_property

from topoopt.base.provenance import digest
from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings
from topoopt.schema.files import noun_from
from topoopt.search import SearchOptions


@dataclass(frozen=True, kw_only=True)
class Point:
    """One fabric for one job, and how both are counted, searched and simulated; nothing is left to a default.

    Attributes
    ----------
    model : str
        A model of the zoo, or the path of a job file as the sweep file has it.
    fabric : str
        A name of :data:`~topoopt.studies.sweep.SWEPT_FABRICS`.
    batch_per_accelerator : int
        0 for the model's own.
    bandwidth_bps : float
        Of one interface. This and the following are the fields of ClusterSpec, JobSettings and SearchOptions.
    preset : str
        The preset that the rules of finder and search started from; they themselves are fields of their own.
    collective : str
        A name in :data:`topoopt.collectives.COLLECTIVE_NAMES`: rings in rounds or as one flow, or an algorithm.
    prices, accounting : str
        Price list, and what is counted of it.
    training : str
        Of a transformer: batch, sequence and what else the sweep says of its training, as
        :func:`topoopt.jobs.text_of_training` writes it. What a job file says of it is in the file. Empty for all else.
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
        """What the point is known by: the SHA-256 of all its settings."""
        return _digest({name: getattr(self, name) for name in POINT_FIELDS})

    @cached_property
    def plan_digest(self) -> str:
        """Equal for points that need the same plan: they differ in what is compared with it, and how."""
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
        """Return how the job's costs are counted."""
        return noun_from(JobSettings, self)

    def options(self) -> SearchOptions:
        """Return how to search, in one process: a sweep has its processes elsewhere."""
        return noun_from(SearchOptions, self, processes=1)


POINT_FIELDS = tuple(field.name for field in fields(Point))
AFTER_THE_PLAN = frozenset({"fabric", "simulator", "prices", "accounting"})
"""Fields that the plan of a point does not depend on."""

SETTINGS_FIELDS = tuple(field.name for field in fields(JobSettings))
OPTION_FIELDS = tuple(field.name for field in fields(SearchOptions) if field.name != "processes")


def _digest(settings: dict[str, object]) -> str:
    return digest(json.dumps(settings, sort_keys=True).encode())
