"""How a cluster is run, and what to draw where there is no trace: settings, made of words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.units import parse_bandwidth, parse_time
from topoopt.catalog import ClusterSpec
from topoopt.clusters import ClusterSettings, GeneratorSettings, PanelSettings, parse_mix
from topoopt.frontends.verbs.search_options import search_options
from topoopt.jobs import JobRequest, JobSettings
from topoopt.schema.words import amount

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
    options, request = search_options(JobRequest(), words)
    inside_bps = 0.0
    if "intra_server_bandwidth" in words:
        inside_bps = amount(parse_bandwidth, words["intra_server_bandwidth"], "intra_server_bandwidth")
    cluster = ClusterSpec(
        servers=words["servers"],
        degree=words["degree"],
        link_bandwidth_bps=amount(parse_bandwidth, words["bandwidth"], "bandwidth"),
        accelerators_per_server=words["accelerators_per_server"],
        accelerator=words["accelerator"],
        link_latency_s=amount(parse_time, words["latency"], "latency"),
        links=words["links"],
        **({"intra_server_bandwidth_bps": inside_bps} if inside_bps else {}),
    )
    move_s = amount(parse_time, words["move_time"], "move_time")
    return ClusterSettings(
        cluster,
        words["logical_servers"],
        words["queue"],
        words["placement"],
        words["weighting"],
        PanelSettings(words["look_ahead"], move_s, words["hands"]),
        words["ocs"],
        options,
        JobSettings(**request.settings),
        words["simulator"],
        prices,
        scale_up_bps=inside_bps,
    )


def generator_settings(words: Mapping[str, Any], seed: int) -> GeneratorSettings:
    """Return what to draw.

    Raises
    ------
    InvalidInput
        For numbers out of range, and words that have no meaning together.
    """
    _check_drawn(words)
    drawn = {**DRAWN, **words}
    return GeneratorSettings(
        jobs=drawn["jobs"],
        load=0.0 if words["at_once"] else drawn["load"],
        horizon_s=amount(parse_time, drawn["horizon"], "horizon"),
        mix=parse_mix(drawn["mix"], "mix"),
        servers_per_job=drawn["servers_per_job"],
        durations=drawn["durations"],
        mean_duration_s=amount(parse_time, drawn["mean_duration"], "mean_duration"),
        seed=seed,
    )


def _check_drawn(words: Mapping[str, Any]) -> None:
    jobs, load = words.get("jobs"), words.get("load")
    if jobs is not None and jobs < 1:
        raise InvalidInput(f"jobs: expected an integer >= 1, got {jobs}")
    if load is not None and not 0 < load < float("inf"):
        raise InvalidInput(f"load: expected a number > 0, such as 0.8, got {load:g}")
    if words["at_once"]:
        if jobs is None:
            raise InvalidInput("at_once: say with jobs how many come at once")
        for word in ("load", "horizon"):
            if word in words:
                raise InvalidInput(f"{word}: has no meaning with at_once; leave one of them out")
    if jobs is not None and "horizon" in words:
        raise InvalidInput("horizon: with jobs, jobs come until there are so many; leave one of them out")
