"""Random traces: a mix of models, independent arrivals, durations with a long tail."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import numpy as np
from pydantic import TypeAdapter

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, check_known, check_least
from topoopt.clusters.trace import Trace, TraceJob
from topoopt.jobs import JobRequest
from topoopt.schema.files import packaged_rows
from topoopt.search import is_transformer

MIXES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "default": {"dlrm": 40.0, "bert": 30.0, "candle": 20.0, "vgg16": 10.0},
        "released": {"dlrm": 36.0, "bert": 42.0, "candle": 18.0, "vgg16": 4.0},
    }
)
"""Shares of models. ``default`` is TopoOpt's shared cluster from memory of the paper, unconfirmed; ``released``
was counted in the authors' released trace."""
LONG_TAIL = 1.0
"""Standard deviation of the logarithm of lognormal durations: ours. One job in a hundred is then ten times as long as
the median one; the logs of production clusters have longer tails still (Jeon et al., ATC 2019)."""
MOST_JOBS = 1_000_000


def _lognormal(rng: np.random.Generator, mean_s: float, count: int) -> Floats:
    return rng.lognormal(math.log(mean_s) - LONG_TAIL**2 / 2, LONG_TAIL, count)


def _fixed(rng: np.random.Generator, mean_s: float, count: int) -> Floats:
    return np.full(count, mean_s)


DURATIONS: Mapping[str, Callable[[np.random.Generator, float, int], Floats]] = {
    "lognormal": _lognormal,
    "exponential": np.random.Generator.exponential,
    "fixed": _fixed,
}
"""Distributions of durations, by name; each has the requested mean."""


@dataclass(frozen=True, slots=True)
class GeneratorSettings:
    """Settings of a generated trace.

    Attributes
    ----------
    jobs : int
        Number of jobs; 0 for all that arrive within the horizon.
    load : float
        Servers requested over servers of the cluster, on average over time: arrivals a second times servers of a
        job times mean duration, over the servers of the cluster. 0 lets all jobs come at once.
    horizon_s : float
        End of arrivals, if their number is not given.
    mix : mapping from model to share
        Shares of any sum. Each model gets its share of the jobs to within one job (largest remainders); chance
        decides the order.
    servers_per_job : int
    durations : str
        Name in :data:`DURATIONS`.
    mean_duration_s : float
        Mean duration with an ideal switch to itself, see :class:`topoopt.clusters.TraceJob`.

    Raises
    ------
    InvalidInput
        If a value is out of range, or neither jobs nor load are given.
    """

    jobs: int = 0
    load: float = 0.0
    horizon_s: float = 86400.0
    mix: Mapping[str, float] = field(default_factory=lambda: MIXES["default"])
    servers_per_job: int = 16
    durations: str = "lognormal"
    mean_duration_s: float = 3600.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.jobs < 0 or self.jobs > MOST_JOBS:
            raise InvalidInput(f"jobs: expected 1 .. {MOST_JOBS:,}, got {self.jobs}")
        if not 0 <= self.load < float("inf"):
            raise InvalidInput(f"load: expected a number > 0, such as 0.8, got {self.load:g}")
        if not self.jobs and not self.load:
            raise InvalidInput("jobs: say how many come at once, or by load how many come over time")
        for name in ("horizon_s", "mean_duration_s"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InvalidInput(f"{name}: expected seconds > 0, got {getattr(self, name):g}")
        check_known("durations", self.durations, DURATIONS)
        check_least(self, seed=0)
        for model in self.mix:
            is_transformer(JobRequest(model=model))  # refuses what nobody knows
        if not self.mix or min(self.mix.values()) < 0 or not 0 < sum(self.mix.values()) < float("inf"):
            raise InvalidInput("mix: expected shares >= 0, one of them > 0, such as dlrm=40,bert=60")


def generate_trace(settings: GeneratorSettings, servers: int) -> Trace:
    """Draw a trace for a cluster of the given size.

    Jobs come as a Poisson process whose rate gives the load, or all at once.

    Raises
    ------
    InvalidInput
        If that is more than :data:`MOST_JOBS` jobs, or none within the horizon.

    Examples
    --------
    >>> trace = generate_trace(GeneratorSettings(jobs=27), servers=432)
    >>> sum(job.model == "dlrm" for job in trace.jobs), trace.jobs[-1].arrival_s
    (11, 0.0)
    """
    arrivals_rng, models_rng, durations_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(settings.seed).spawn(3)
    )
    if not settings.load:
        arrivals_s = np.zeros(settings.jobs)
    else:
        rate_per_s = settings.load * servers / (settings.servers_per_job * settings.mean_duration_s)
        arrivals_s = poisson_arrivals_s(rate_per_s, settings.jobs, settings.horizon_s, arrivals_rng)
    models = models_rng.permutation(models_in_shares(settings.mix, len(arrivals_s)))
    durations_s = DURATIONS[settings.durations](durations_rng, settings.mean_duration_s, len(arrivals_s))
    width = len(str(len(arrivals_s)))
    return Trace(
        f"generated, seed {settings.seed}",
        tuple(
            TraceJob(
                f"job-{index:0{width}d}",
                str(model),
                settings.servers_per_job,
                float(at_s),
                0.0,
                float(long_s),
            )
            for index, (model, at_s, long_s) in enumerate(
                zip(models, arrivals_s, durations_s, strict=True), 1
            )
        ),
    )


def models_in_shares(mix: Mapping[str, float], count: int) -> list[str]:
    """Return ``count`` models in the shares of the mix, each to within one (largest remainders).

    Examples
    --------
    >>> models_in_shares({"dlrm": 40, "bert": 30, "candle": 20, "vgg16": 10}, 5)
    ['dlrm', 'dlrm', 'bert', 'bert', 'candle']
    """
    total = sum(mix.values())
    exact = {model: share * count / total for model, share in mix.items()}
    counts = {model: int(share) for model, share in exact.items()}
    by_rest = sorted(mix, key=lambda model: counts[model] - exact[model])
    for model in by_rest[: count - sum(counts.values())]:
        counts[model] += 1
    return [model for model in mix for _ in range(counts[model])]


def parse_mix(text: str, place: str = "mix") -> Mapping[str, float]:
    """Return the shares of a mix's name, or of ``dlrm=40,bert=60``.

    Raises
    ------
    InvalidInput
        For an unknown name, or a share that is no number.
    """
    if "=" not in text:
        check_known(place, text, MIXES)
        return MIXES[text]
    mix: dict[str, float] = {}
    for part in text.split(","):
        model, _, share = (word.strip() for word in part.partition("="))
        if model in mix:
            raise InvalidInput(f"{place}: {model} stands twice; give it one share")
        try:
            mix[model] = float(share)
        except ValueError:
            raise InvalidInput(f'{place}: expected MODEL=SHARE such as dlrm=40, got "{part}"') from None
        if not 0 <= mix[model] < float("inf"):
            raise InvalidInput(f"{place}: {model}: expected a share >= 0, got {share}")
    return mix


def poisson_arrivals_s(rate_per_s: float, jobs: int, horizon_s: float, rng: np.random.Generator) -> Floats:
    """Return ascending Poisson arrival times: ``jobs`` of them, or for 0 all within the horizon.

    Raises
    ------
    InvalidInput
        If that is more than :data:`MOST_JOBS` jobs, or none within the horizon.
    """
    if jobs:
        return np.cumsum(rng.exponential(1 / rate_per_s, jobs))
    expected = rate_per_s * horizon_s
    if expected > MOST_JOBS:
        raise InvalidInput(
            f"load: {expected:,.0f} jobs would come, at most {MOST_JOBS:,} are drawn; "
            "take a shorter horizon or longer jobs"
        )
    count = int(rng.poisson(expected))  # given their number, arrivals of a Poisson process are uniform
    if not count:
        raise InvalidInput(
            f"load: no job comes within the horizon of {horizon_s:g} s ({expected:.2g} expected); "
            "take a longer horizon, a higher load, or another seed"
        )
    return np.sort(rng.uniform(0, horizon_s, count))


MIXED = "mixed"
"""Name of the trace."""
LARGEST_PART = 1 / 4
"""Largest part of the cluster that one job may have."""


@dataclass(frozen=True, slots=True)
class JobKind:
    """A kind of similar jobs.

    Attributes
    ----------
    kind : str
        Name of the kind, such as ``fine-tuning``.
    model, training : str
        Model and training options, as in :class:`TraceJob`.
    share : float
        Weight of the kind: its share of the jobs over the sum of all shares.
    servers_low, servers_high : int
        Powers of two from one to the other are drawn, each as often.
    mean_duration_s : float
        Mean duration with an ideal switch to itself; the distribution has a long tail.
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
        """Return the possible job sizes up to a maximum.

        Examples
        --------
        >>> JobKind("fine-tuning", "llama3-8b", "", 1.0, 2, 16, 3600.0, "").sizes(9)
        (2, 4, 8)
        """
        powers = (2**power for power in range(1, 20))
        return tuple(size for size in powers if self.servers_low <= size <= min(self.servers_high, most))


@dataclass(frozen=True, slots=True)
class MixedTraceSettings:
    """Settings of a generated trace of several kinds of jobs.

    Attributes
    ----------
    load : float
        Servers requested over servers of the cluster, on average over time.
    horizon_s : float
        End of arrivals, if their number is not given.
    jobs : int
        Number of jobs; 0 for all that arrive within the horizon.

    Raises
    ------
    InvalidInput
        If a value is out of range.
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
        check_least(self, seed=0)


@cache
def mixed_kinds() -> tuple[JobKind, ...]:
    """Return the kinds of ``data/mixed_jobs.csv``; shares, sizes and durations are ours, and marked so."""
    return TypeAdapter(tuple[JobKind, ...]).validate_python(packaged_rows("clusters", "mixed_jobs"))


def mixed_trace(settings: MixedTraceSettings, servers: int) -> Trace:
    """Draw a trace of mixed jobs for a cluster of the given size.

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
