"""Simulation settings from options: the fabric, and the behavior of packets."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.base.limits import whole
from topoopt.base.units import parse_bandwidth, parse_bytes, parse_delay, parse_time
from topoopt.jobs import expecting, file_kind
from topoopt.plans import Plan, read_plan
from topoopt.routing import Fabric
from topoopt.schema.words import Amount, FabricWords, PacketWords, WorkloadWords, amount, pick
from topoopt.simulation import (
    AUTO,
    SIMULATORS,
    Aggressiveness,
    FabricChoice,
    LinkFailure,
    PacketOptions,
    Placement,
    SimulatedJob,
)
from topoopt.topologies import Topology

PLAN_FILES = (".json", ".yaml", ".yml")
MOST_MOMENT_S = 1_000_000
FOR_ALL = ("path_choice", "compat")
"""Words about packets that mean something to the other simulators, too."""
SHARINGS = ("fair", "mltcp")
"""Policies of the flow simulator for links shared by several jobs."""
SPLIT_OF = {"connection": "one", "paths": "paths", "packet": "spread"}
"""Names of path choices in the flow and the analytic simulator."""
_PLAIN = (
    *("fabric", "degree", "servers", "routing", "host_forwarding"),
    *("electrical_ports", "region_servers", "circuits", "hiding"),
)
_MOMENT = partial(parse_time, most_s=MOST_MOMENT_S)


def chosen_simulator(named: str | None, words: Mapping[str, Any], all_graphs: bool) -> str:
    """Return the simulator: as named; packet for task graphs and with packet options; else auto.

    Raises
    ------
    InvalidInput
        If there is no such simulator, or a word is for packets and another simulator is named.
    """
    if named is not None:
        check_known("simulator", named, (AUTO, *SIMULATORS))
    about_packets = pick(words, PacketWords)
    alone = [word for word in about_packets if word not in FOR_ALL]
    if named is None:
        return "packet" if all_graphs or alone or "compat" in about_packets else AUTO
    if named != "packet" and alone:
        raise InvalidInput(f"{alone[0]}: only the packet simulator knows it; use simulator=packet")
    return named


def fabric_choice(words: Mapping[str, Any]) -> FabricChoice:
    """Return the requested properties of the fabric.

    Raises
    ------
    InvalidInput
        For an amount without a unit, or strides that are none.
    """
    choice = pick(words, _PLAIN)
    if "bandwidth" in words:
        choice["bandwidth_bps"] = amount(parse_bandwidth, words["bandwidth"], "bandwidth")
    for word in ("latency", "reconfiguration_delay"):
        if word in words:
            choice[f"{word}_s"] = amount(parse_delay, words[word], word)
    if "strides" in words:
        strides = words["strides"]
        try:
            listed = tuple(
                int(word) for word in (strides.split(",") if isinstance(strides, str) else strides)
            )
        except ValueError:
            raise InvalidInput(
                f"strides: expected numbers with commas, such as 1,5, got {shown(strides)}"
            ) from None
        if not listed or min(listed) < 1 or len(set(listed)) < len(listed):
            raise InvalidInput(f"strides: expected different numbers >= 1, got {shown(strides)}")
        choice["strides"] = listed
    if "wiring" in words:
        choice["wiring"] = os.fspath(words["wiring"])
        if not choice["wiring"]:
            raise InvalidInput('wiring: expected a family such as lifted, or a wiring file, got ""')
    return FabricChoice(**choice)


def workload_cluster(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requested servers of a workload of SimAI, by the names of a cluster's fields."""
    cluster = pick(words, WorkloadWords)
    if "intra_server_bandwidth" in cluster:
        said = cluster.pop("intra_server_bandwidth")
        cluster["intra_server_bandwidth_bps"] = amount(parse_bandwidth, said, "intra_server_bandwidth")
    if "accelerators_per_server" in cluster:
        whole("accelerators_per_server", cluster["accelerators_per_server"], 1)
    return cluster


def packet_options(words: Mapping[str, Any]) -> PacketOptions:
    """Return the packet options without failures; see :func:`link_failures`.

    Raises
    ------
    InvalidInput
        For an unknown name, or a number out of range.
    """
    plain = ("transport", "compat", "acks", "path_choice", "recovery", "connections", "totals", "progress_of")
    for word in ("mark", "pfc"):
        if word in words and not words[word] >= 0:
            raise InvalidInput(f"{word}: expected a number of packets >= 0, got {words[word]:g}")
    timeout_s = amount(parse_delay, words["timeout_min"], "timeout_min") if "timeout_min" in words else None
    if timeout_s == 0:
        raise InvalidInput(f'timeout_min: must be positive, got "{words["timeout_min"]}"')
    if "buffer" in words:
        whole("buffer", words["buffer"], 1)
    limit: dict[str, Any] = {}
    if "memory_limit" in words:
        limit["memory_limit_bytes"] = round(amount(parse_bytes, words["memory_limit"], "memory_limit"))
    return PacketOptions(
        **pick(words, plain),
        aggressiveness=_aggressiveness(words["aggressiveness"]) if "aggressiveness" in words else None,
        mark_packets=words.get("mark"),
        pfc_packets=words.get("pfc"),
        timeout_min_s=timeout_s,
        buffer_packets=words.get("buffer"),
        **limit,
    )


def begins_s(begin: str | Sequence[Amount]) -> tuple[float, ...]:
    """Return the start of each of several jobs, from times with commas, or a list.

    Raises
    ------
    InvalidInput
        For an invalid time.
    """
    times = begin.split(",") if isinstance(begin, str) else begin
    return tuple(amount(_MOMENT, time, "begin") for time in times)


def link_aggressiveness(sharing: str, simulator: str) -> Aggressiveness | None:
    """Return MLTCP's F where several jobs share links by it, None where they share them fairly.

    Raises
    ------
    InvalidInput
        For an unknown method, or a simulator that does not support it.
    """
    check_known("sharing", sharing, SHARINGS)
    if sharing == SHARINGS[0]:
        return None
    if simulator == "packet":
        raise InvalidInput(
            "sharing: is of flows; packets have a transport for it, such as transport=mltcp-reno"
        )
    if simulator == "analytic":
        raise InvalidInput("sharing: with analytic a link has one transfer at a time; use simulator=flow")
    return Aggressiveness()


def _aggressiveness(text: str) -> Aggressiveness:
    match = re.fullmatch(r"\s*([-+.\deE]+)\s*,\s*([-+.\deE]+)\s*(?:,\s*(\w+)\s*)?", text)
    try:
        assert match is not None
        slope, intercept = float(match[1]), float(match[2])
    except (AssertionError, ValueError):
        raise InvalidInput(
            f"aggressiveness: expected a slope and an intercept, such as 1.75,0.25, got {shown(text)}"
        ) from None
    return Aggressiveness(slope, intercept, match[3] or "linear")


def link_failures(failures: Iterable[str], topology: Topology) -> tuple[LinkFailure, ...]:
    """Return the failures of cables, written ``A-B@TIME[:TIME]``: both directions of each, where there are two.

    Raises
    ------
    InvalidInput
        For text of another form, or a cable that is not there.
    """
    return tuple(failure for text in failures for failure in _failures(text, topology))


def _failures(text: str, topology: Topology) -> list[LinkFailure]:
    match = re.fullmatch(r"\s*(\d{1,9})-(\d{1,9})@([^:@]+)(?::([^:@]+))?", text)
    if match is None:
        raise InvalidInput(f'fail_link: expected A-B@TIME or A-B@TIME:TIME, such as 0-5@1ms, got "{text}"')
    src, dst = int(match[1]), int(match[2])
    fail_s = _MOMENT(match[3], "fail_link")
    repair_s = float("inf") if match[4] is None else _MOMENT(match[4], "fail_link")
    if not fail_s < repair_s:
        raise InvalidInput(f'fail_link: the repair must come after the failure, got "{text}"')
    known = max(src, dst) < topology.nodes
    ends = [(a, b) for a, b in ((src, dst), (dst, src)) if known and topology.link_id(a, b) >= 0]
    if not ends:
        raise InvalidInput(
            f"fail_link: no cable joins {src} and {dst}; nodes are 0..{topology.nodes - 1}, servers first"
        )
    return [LinkFailure(a, b, fail_s, repair_s) for a, b in ends]


def plan_of_fabric(words: Mapping[str, Any]) -> Plan | None:
    """Return the plan whose file is named by the option ``fabric``, if it is one."""
    name = words.get("fabric")
    if not isinstance(name, str) or not (name.lower().endswith(PLAN_FILES) or os.sep in name):
        return None
    if os.path.isfile(name) and file_kind(name) == "wiring":  # or the graph of a fabric
        return None
    with expecting(name, "plan"):
        return read_plan(name)


def fabric_of_plan(
    plan: Plan, jobs: Sequence[SimulatedJob], words: Mapping[str, Any]
) -> tuple[Fabric, Placement]:
    """Return a plan's network, and the first of its servers for the only job.

    Raises
    ------
    InvalidInput
        If there are several jobs, the job has more servers than the plan, or another word describes the network.
    """
    others = [word for word in pick(words, FabricWords) if word != "fabric"]
    if others:
        raise InvalidInput(f"{others[0]}: {words['fabric']} says what its network is; leave it out")
    if len(jobs) > 1:
        raise InvalidInput("fabric: the network of a plan is for one job; describe one for several")
    servers, has = jobs[0].graph.servers, plan.fabric.topology.servers
    if servers > has:
        raise InvalidInput(f"fabric: {jobs[0].path} has {servers} servers, {words['fabric']} has {has}")
    return plan.fabric, (tuple(range(servers)),)
