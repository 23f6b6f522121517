"""A trace of today's mix: language models and mixtures of experts trained and fine-tuned beside recommendation."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.clusters.generate import DURATIONS, MOST_JOBS, models_in_shares, poisson_arrivals_s
from topoopt.clusters.trace import Trace, TraceJob
from topoopt.schema.files import packaged_rows

MIXED = "mixed"
"""Name of the trace."""

LARGEST_PART = 1 / 4
"""Of the cluster, that one job may have."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """Jobs that are alike.

    Attributes
    ----------
    kind : str
        What people call them, such as ``fine-tuning``.
    model, training : str
        What is trained and how, as in :class:`TraceJob`.
    share : float
        Of the jobs, over the sum of all shares.
    servers_low, servers_high : int
        Powers of two from one to the other are drawn, each as often.
    mean_duration_s : float
        With an ideal switch to itself; the distribution has a long tail.
    source : str
        Where these numbers are from.
    """

    kind: str
    model: str
    training: str
    share: float
    servers_low: int
    servers_high: int
    mean_duration_s: float
    source: str

    def sizes(self, most: int) -> tuple[int, ...]:
        """Return the numbers of servers that are drawn, of at most so many.

        Examples
        --------
        >>> JobKind("fine-tuning", "llama3-8b", "", 1.0, 2, 16, 3600.0, "").sizes(9)
        (2, 4, 8)
        """
        powers = (2**power for power in range(1, 20))
        return tuple(size for size in powers if self.servers_low <= size <= min(self.servers_high, most))


@dataclass(frozen=True, slots=True)
class MixedTraceSettings:
    """What to draw.

    Attributes
    ----------
    load : float
        Servers asked for over servers of the cluster, on average over time.
    horizon_s : float
        Until when jobs come, where their number is not given.
    jobs : int
        How many; 0 for as many as come within the horizon.

    Raises
    ------
    InvalidInput
        If a value is outside what is allowed.
    """

    load: float = 0.8
    horizon_s: float = 86400.0
    jobs: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("load", "horizon_s"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InvalidInput(f"{name}: expected a number > 0, got {getattr(self, name):g}")
        if not 0 <= self.jobs <= MOST_JOBS:
            raise InvalidInput(f"jobs: expected 1 .. {MOST_JOBS:,}, got {self.jobs}")
        if self.seed < 0:
            raise InvalidInput(f"seed: must be >= 0, got {self.seed}")


@cache
def mixed_kinds() -> tuple[JobKind, ...]:
    """Return the kinds of ``data/mixed_jobs.csv``; shares, sizes and durations are ours, and say so."""
    return tuple(
        JobKind(
            row["kind"],
            row["model"],
            row["training"],
            float(row["share"]),
            int(row["servers_low"]),
            int(row["servers_high"]),
            float(row["mean_duration_s"]),
            row["source"],
        )
        for row in packaged_rows("clusters", "mixed_jobs")
    )


def mixed_trace(settings: MixedTraceSettings, servers: int) -> Trace:
    """Draw a trace of mixed jobs for a cluster of so many servers.

    Jobs come as a Poisson process whose rate gives the load. Each kind gets its share of them to within one job. Kinds
    that need more than a quarter of the cluster do not come.

    Raises
    ------
    InvalidInput
        If the cluster is too small for every kind, or no job comes within the horizon.

    Examples
    --------
    >>> trace = mixed_trace(MixedTraceSettings(jobs=50), 432)
    >>> sum("adapter_rank" in job.training for job in trace.jobs), max(job.servers for job in trace.jobs)
    (20, 64)
    """
    sizes = {kind: kind.sizes(int(servers * LARGEST_PART)) for kind in mixed_kinds()}
    kinds = [kind for kind, found in sizes.items() if found]
    if not kinds:
        raise InvalidInput(
            f"servers {servers}: the smallest jobs of {MIXED} need a quarter of 8; give 8 or more"
        )
    total = sum(kind.share for kind in kinds)
    server_s = sum(kind.share / total * float(np.mean(sizes[kind])) * kind.mean_duration_s for kind in kinds)
    arrivals_rng, kinds_rng, sizes_rng, durations_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(settings.seed).spawn(4)
    )
    rate_per_s = settings.load * servers / server_s
    arrivals_s = poisson_arrivals_s(rate_per_s, settings.jobs, settings.horizon_s, arrivals_rng)
    places = models_in_shares({str(place): kind.share for place, kind in enumerate(kinds)}, len(arrivals_s))
    drawn = [kinds[int(place)] for place in kinds_rng.permutation(places)]
    width = len(str(len(drawn)))
    jobs = tuple(
        TraceJob(
            f"{kind.kind}-{index:0{width}d}",
            kind.model,
            int(sizes_rng.choice(sizes[kind])),
            float(at_s),
            0.0,
            float(DURATIONS["lognormal"](durations_rng, kind.mean_duration_s, 1)[0]),
            training=kind.training,
        )
        for index, (kind, at_s) in enumerate(zip(drawn, arrivals_s, strict=True), 1)
    )
    return Trace(f"{MIXED}, seed {settings.seed}", jobs)
