"""The words of a cluster: the machine and how it is run, and what to draw where there is no trace."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypedDict

from topoopt.cluster import ClusterSettings, GeneratorSettings, PanelSettings, parse_mix
from topoopt.errors import InvalidInput
from topoopt.hardware import ClusterSpec
from topoopt.job import JobRequest, JobSettings
from topoopt.units import parse_bandwidth, parse_time
from topoopt.verbs.search_options import search_options
from topoopt.verbs.words import Amount, FinderWords, SearchWords, amount


class GeneratorWords(TypedDict, total=False):
    """What to draw."""

    generate: bool
    jobs: int
    at_once: bool
    load: float
    horizon: Amount
    mix: str
    servers_per_job: int
    durations: str
    mean_duration: Amount
    save_trace: str


class MachineWords(TypedDict, total=False):
    """The cluster, and how it is run."""

    servers: int
    degree: int
    bandwidth: Amount
    accelerators_per_server: int
    accelerator: str
    latency: Amount
    links: str
    logical_servers: int
    queue: str
    placement: str
    look_ahead: bool
    move_time: Amount
    hands: int
    ocs: str
    simulator: str
    weighting: str


class ClusterWords(GeneratorWords, MachineWords, FinderWords, SearchWords, total=False):
    """All words that :func:`topoopt.cluster.run` takes."""


GENERATOR_WORDS = tuple(GeneratorWords.__annotations__)
CLUSTER_WORDS = tuple(ClusterWords.__annotations__)

MACHINE: Mapping[str, Any] = MappingProxyType(
    {
        "servers": 432,
        "degree": 8,
        "bandwidth": "100Gbps",
        "accelerators_per_server": 4,
        "accelerator": "a100",
        "latency": "1us",
        "links": "duplex",
        "logical_servers": 1,
        "queue": "fifo",
        "placement": "contiguous",
        "look_ahead": True,
        "move_time": "30s",
        "hands": 0,
        "ocs": "piezo",
        "simulator": "analytic",
        "weighting": "jobs",
    }
)
"""The machine where nothing is given: the authors' shared cluster of 432 servers."""

DRAWN: Mapping[str, Any] = MappingProxyType(
    {
        "jobs": 0,
        "load": 0.8,
        "horizon": "24h",
        "mix": "default",
        "servers_per_job": 16,
        "durations": "lognormal",
        "mean_duration": "1h",
    }
)
"""What is drawn where nothing is given: a day of jobs."""


def cluster_settings(words: Mapping[str, Any], prices: str) -> ClusterSettings:
    """Return how the cluster is run.

    Raises
    ------
    InvalidInput
        For unknown names and numbers out of range.
    """
    given = {**MACHINE, **words}
    options, request = search_options(JobRequest(), words)
    cluster = ClusterSpec(
        servers=given["servers"],
        degree=given["degree"],
        link_bandwidth_bps=amount(parse_bandwidth, given["bandwidth"], "bandwidth"),
        accelerators_per_server=given["accelerators_per_server"],
        accelerator=given["accelerator"],
        link_latency_s=amount(parse_time, given["latency"], "latency"),
        links=given["links"],
    )
    move_s = amount(parse_time, given["move_time"], "move_time")
    return ClusterSettings(
        cluster,
        given["logical_servers"],
        given["queue"],
        given["placement"],
        given["weighting"],
        PanelSettings(given["look_ahead"], move_s, given["hands"]),
        given["ocs"],
        options,
        JobSettings(**request.settings),
        given["simulator"],
        prices,
    )


def generator_settings(words: Mapping[str, Any], seed: int) -> GeneratorSettings:
    """Return what to draw.

    Raises
    ------
    InvalidInput
        For numbers out of range, and words that have no meaning together.
    """
    _check_drawn(words)
    given = {**DRAWN, **words}
    return GeneratorSettings(
        jobs=given["jobs"],
        load=0.0 if words.get("at_once") else given["load"],
        horizon_s=amount(parse_time, given["horizon"], "horizon"),
        mix=parse_mix(given["mix"], "mix"),
        servers_per_job=given["servers_per_job"],
        durations=given["durations"],
        mean_duration_s=amount(parse_time, given["mean_duration"], "mean_duration"),
        seed=seed,
    )


def _check_drawn(words: Mapping[str, Any]) -> None:
    jobs, load = words.get("jobs"), words.get("load")
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs: expected an integer >= 1, got {jobs}")
    if load is not None and not 0 < load < float("inf"):
        raise InvalidInput(f"load: expected a number > 0, such as 0.8, got {load:g}")
    if words.get("at_once"):
        if jobs is None:
            raise InvalidInput("at_once: say with jobs how many come at once")
        for word in ("load", "horizon"):
            if word in words:
                raise InvalidInput(f"{word}: has no meaning with at_once; leave one of them out")
    if jobs is not None and "horizon" in words:
        raise InvalidInput("horizon: with jobs, jobs come until there are so many; leave one of them out")
