"""Who gives out single workers, on which network: made of words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from topoopt.base.errors import InvalidInput, check_known, unknown_name
from topoopt.base.units import parse_time
from topoopt.clusters import (
    SCHEDULERS,
    ClusterSettings,
    Machine,
    ScheduledCluster,
    ScheduleSettings,
    WorkerNetwork,
    cassini_24,
    shared_fabric,
)
from topoopt.clusters.interleave import SHARINGS
from topoopt.finder import FabricRequest
from topoopt.schema.words import ClusterWords, ScheduleWords, amount, defaults
from topoopt.search import BASELINES

PRESET = "cassini-24"
FIXED = ("servers", "degree", "bandwidth", "latency", "links")
"""Words of the machine that the preset has its own values for."""
WITHOUT_MEANING = (
    "accelerators_per_server",
    "logical_servers",
    "queue",
    "placement",
    "look_ahead",
    "move_time",
    "hands",
    "ocs",
)
"""Words that a scheduler of single workers leaves nothing to decide."""
PARTS: Mapping[str, str] = MappingProxyType(
    {"cassini": "cassini", **{name: "sharing" for name in SHARINGS if name != "fair"}}
)
"""What a scheduler's name may be joined with, by +, and the word that says the same of all."""


def scheduled_cluster(
    words: Mapping[str, Any], settings: ClusterSettings, fabrics: Sequence[str] | None
) -> ScheduledCluster:
    """Return network, machine and schedulers that the words ask for.

    Raises
    ------
    InvalidInput
        For unknown names, numbers out of range, and words that have no meaning with a scheduler.
    """
    if not words["scheduler"]:
        raise InvalidInput(f"scheduler: name one of {', '.join(SCHEDULERS)}")
    for word in WITHOUT_MEANING:
        _refuse_changed(words, word, "has no meaning with a scheduler of single workers; leave it out")
    network = _network(words, settings, fabrics)
    machine = Machine(
        network.server_bandwidth_bps,
        settings.cluster.link_latency_s,
        settings.cluster.accelerator,
        settings.costs,
        settings.simulator,
    )
    schedules = tuple(_schedule(name, words, settings) for name in words["scheduler"])
    if not any(schedule.cassini for schedule in schedules):
        _refuse_changed(words, "merging", "is for CASSINI; ask for it, such as scheduler=themis+cassini")
    if len(set(schedules)) < len(schedules):
        raise InvalidInput("scheduler: one stands twice; name each once")
    return ScheduledCluster(network, machine, schedules)


def of_workers(settings: ClusterSettings, network: WorkerNetwork) -> ClusterSettings:
    """Return the settings of a cluster whose servers are the workers of a network: traces are drawn for it."""
    cluster = replace(
        settings.cluster,
        servers=network.servers,
        degree=1,
        link_bandwidth_bps=network.server_bandwidth_bps,
        accelerators_per_server=1,
    )
    return replace(settings, cluster=cluster, logical_servers=1)


def refuse_schedule_words(words: Mapping[str, Any]) -> None:
    """Refuse words of a scheduler where none is asked for."""
    for word in ScheduleWords.__annotations__:
        _refuse_changed(words, word, "is for a scheduler; give one, such as scheduler=themis")


def _schedule(name: str, words: Mapping[str, Any], settings: ClusterSettings) -> ScheduleSettings:
    scheduler, *joined = name.split("+")
    check_known("scheduler", scheduler, SCHEDULERS)
    given = {"cassini": words["cassini"], "sharing": words["sharing"]}
    if SCHEDULERS[scheduler].dedicated and len(words["scheduler"]) > 1:
        given["cassini"] = False  # beside others that it is meant for
    for part in joined:
        check_known(f"scheduler: {name}", part, PARTS)
        given[PARTS[part]] = True if part == "cassini" else part
    return ScheduleSettings(
        scheduler,
        **given,
        merging=words["merging"],
        epoch_s=amount(parse_time, words["epoch"], "epoch"),
        restart_s=amount(parse_time, words["restart_time"], "restart_time"),
        jitter=words["jitter"],
        noise_scale=words["noise_scale"],
        weighting=settings.weighting,
        seed=settings.seed,
    )


def _network(
    words: Mapping[str, Any], settings: ClusterSettings, fabrics: Sequence[str] | None
) -> WorkerNetwork:
    names = tuple(fabrics or (PRESET,))
    if len(names) > 1:
        raise InvalidInput(f"fabrics: with a scheduler one network at a time, got {len(names)}")
    if names[0] == PRESET:
        for word in FIXED:
            _refuse_changed(
                words, word, f"the network {PRESET} has its own; leave it out, or give fabrics=[...]"
            )
        return cassini_24()
    if names[0] not in BASELINES:
        raise unknown_name("fabric", names[0], (PRESET, *BASELINES))
    cluster = settings.cluster
    request = FabricRequest(
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        seed=settings.seed,
    )
    fabric = shared_fabric(names[0], request)
    return WorkerNetwork(fabric, f"{cluster.servers} servers, every switch a node")


def _refuse_changed(words: Mapping[str, Any], word: str, why: str) -> None:
    """Refuse a word that has another value than its default, which is what the command line always gives."""
    if word in words and words[word] != defaults(ClusterWords).get(word):
        raise InvalidInput(f"{word}: {why}")
