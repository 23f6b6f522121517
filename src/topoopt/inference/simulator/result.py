"""The noun ServingRun: when each request was begun, told its first token and answered, and what replicas did."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.inference.objectives import Objectives
from topoopt.inference.requests import Requests
from topoopt.inference.simulator.fleet import Fleet
from topoopt.inference.simulator.kernel.layout import Clock, Count, Replica, Request, State, Time


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and percentiles of a time; NaN where nothing has one."""

    mean: float
    p50: float
    p90: float
    p99: float

    def to_json(self) -> dict[str, float | None]:
        """Return them in seconds, by name."""
        names = ("mean_s", "p50_s", "p90_s", "p99_s")
        values = (self.mean, self.p50, self.p90, self.p99)
        return {name: None if np.isnan(value) else value for name, value in zip(names, values, strict=True)}


def spread_of(values: Floats) -> Spread:
    """Return mean and percentiles, of values that are not NaN."""
    known = values[~np.isnan(values)]
    if not len(known):
        return Spread(*[float("nan")] * 4)
    return Spread(float(known.mean()), *(float(part) for part in np.percentile(known, (50, 90, 99))))


@dataclass(frozen=True, slots=True, eq=False)
class ServingRun:
    """What :func:`simulate_serving` returns; arrays have an entry a request, or one a replica."""

    fleet: Fleet
    requests: Requests
    state: State

    @property
    def arrival_s(self) -> Floats:
        """When requests came; of a closed loop, when their clients sent them."""
        return self.state.arrival_s

    @property
    def ttft_s(self) -> Floats:
        """Seconds from a request to its first token; of two pools until those that answer have begun."""
        return self.state.time[:, Time.FIRST] - self.arrival_s

    @property
    def tpot_s(self) -> Floats:
        """Seconds for each token after the first on average; NaN for answers of one token."""
        more = self.requests.output_tokens - 1
        seconds = self.state.time[:, Time.LAST] - self.state.time[:, Time.FIRST]
        return np.where(more > 0, seconds / np.maximum(more, 1), np.nan)

    @property
    def queue_s(self) -> Floats:
        """Seconds until the prompt was begun, and until an arrived cache got its place."""
        time = self.state.time
        arrived = time[:, Time.ARRIVED] >= 0
        return (
            time[:, Time.BEGIN]
            - self.arrival_s
            + np.where(arrived, time[:, Time.FIRST] - time[:, Time.ARRIVED], 0)
        )

    @property
    def prefill_s(self) -> Floats:
        """Seconds from the begin of a prompt to its end."""
        return self.state.time[:, Time.READ] - self.state.time[:, Time.BEGIN]

    @property
    def transfer_s(self) -> Floats:
        """Seconds until the cache was there; 0 where none was sent."""
        time = self.state.time
        return np.where(time[:, Time.ARRIVED] >= 0, time[:, Time.ARRIVED] - time[:, Time.READ], 0.0)

    def moments(self, request: int) -> tuple[float, ...]:
        """Return when a prompt was begun and read, its cache there, the first token told and the last; -1 for never."""
        return tuple(float(moment) for moment in self.state.time[request])

    @property
    def answered_s(self) -> Floats:
        """When requests were answered."""
        return np.asarray(self.state.time[:, Time.LAST])

    @property
    def end_s(self) -> float:
        """When the last request was answered."""
        return float(self.answered_s.max())

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens of answers a second, from the first request to the last answer."""
        return float(self.requests.output_tokens.sum() / (self.end_s - self.arrival_s[0]))

    @property
    def preempted(self) -> Ints:
        """How often each request lost its pages."""
        return self.state.request[:, Request.PREEMPTED]

    @property
    def hit_share(self) -> float:
        """Share of the tokens of all prompts that were cached."""
        return float(self.state.request[:, Request.HIT].sum() / self.requests.input_tokens.sum())

    @property
    def peak_share(self) -> Floats:
        """Pages in use at most over those that there are, of each replica."""
        pages = np.array([kind.pages for kind in self.fleet.pools])
        return np.asarray(self.state.replica[:, Replica.PEAK] / pages[self.state.replica[:, Replica.POOL]])

    @property
    def events(self) -> int:
        """Events that were handled."""
        return int(self.state.tally[Count.EVENTS])

    def seconds(self, what: Clock) -> float:
        """Return what all replicas have spent, such as ``Clock.READING``."""
        return float(self.state.clock[:, what].sum())

    def attainment(self, objectives: Objectives) -> float:
        """Return the share of the requests that meet both objectives."""
        return float(objectives.met(self.ttft_s, self.tpot_s).mean())
