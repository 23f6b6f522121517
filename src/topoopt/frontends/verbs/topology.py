"""``topoopt.topology`` and ``topoopt.collective``: the best wiring of servers, and a collective on it."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from topoopt.base.answers import Progress, fields_of, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import parse_bandwidth, parse_bytes, parse_time
from topoopt.catalog import DEFAULT_ACCELERATOR, LINK_MODES, ClusterSpec
from topoopt.collectives.frontier import (
    OPERATIONS,
    WIRED_DIRECTLY,
    CollectiveAnswer,
    Wiring,
    collective_answer,
    family_wiring,
    read_wiring,
    stride_wiring,
    wiring_of,
)
from topoopt.finder import RingNetwork, listed_strides, ring_interfaces, ring_network, select_permutations
from topoopt.finder.rewiring import ported
from topoopt.frontends.verbs.input_sources import is_file_name, is_plan_file, wiring_of_file, with_rings
from topoopt.jobs import expecting
from topoopt.measurements import CollectiveTimes, collective_sizes, collectives_of_table, with_nvls
from topoopt.plans import read_plan
from topoopt.schema.words import (
    Amount,
    CollectiveRankWords,
    CollectiveWiringWords,
    CollectiveWords,
    WiringWords,
    amount,
    checked_arguments,
    checked_words,
    defaults,
    pick,
)
from topoopt.topologies import LINK_MODELS, circulant_wiring
from topoopt.topologies.wirings import FoundWirings, WiringAnswer, WiringRequest, judged, search_wirings
from topoopt.transformers import find_calibration, usual_system

USUAL_DEGREE, USUAL_BPS = 4, 100e9
_KINDS = ("strides", "any")


@checked_arguments
def topology(
    servers: int | None = None,
    degree: int | None = None,
    *,
    links: str | None = None,
    strides: str | Sequence[int] = "best",
    file: str | None = None,
    on_progress: Progress = silent,
    **words: Unpack[WiringWords],
) -> RingNetwork | WiringAnswer:
    """Choose the best wiring for the given ports, or the AllReduce rings of all servers, and return the network.

    All wirings are considered by default; a rule of strides, a list of them, or ``wirings="strides"`` selects rings
    along strides, as in the paper, as do ports that reach all other servers.

    Parameters
    ----------
    degree
        Ports of a server; not needed with a list of strides.
    links
        ``duplex`` (default: a port is a fiber pair to one neighbor) or ``directed`` (it sends to one and receives from
        another).
    strides
        The rule that chooses the rings (``best``, ``nearest``, ``lower-bound``), or the strides themselves.
    file
        A wiring file, a list of links or a plan, instead of the other options; ``links`` and ``degree`` (if some
        ports are idle) are for a list of links.
    on_progress
        Progress callback: stage, work done, and total.

    Returns
    -------
    RingNetwork or WiringAnswer
        The first where strides are requested.

    Raises
    ------
    InvalidInput
        For an unknown rule, or impossible ports; for a file with a wrong degree, a missing cable end or two parts.
    Infeasible
        For a family that does not exist for these servers and ports, with the nearest that do.

    Examples
    --------
    >>> import topoopt
    >>> wiring = topoopt.topology(servers=128, degree=8)
    >>> round(wiring.chosen.hops.average_hops, 4), round(wiring.moore_average_hops, 4)
    (2.4331, 2.4331)
    >>> network = topoopt.topology(servers=128, degree=4, wirings="strides")
    >>> network.strides, round(network.table.average_hops, 2)
    ((1, 15), 5.35)
    """
    if links is not None:
        check_known("links", links, LINK_MODELS)
    if file is not None:
        for name in (*(["servers"] if servers is not None else []), *words):
            raise InvalidInput(
                f"{name}: already given by the wiring file; give either a file or servers and degree"
            )
        wiring, ports = wiring_of_file(file, links, degree)
        wiring = with_rings(wiring)
        return WiringAnswer(judged(wiring), ports or ported(wiring), source=file)
    links = links or "duplex"
    if servers is None:
        raise InvalidInput("servers: missing; give how many, such as 128, or a wiring file")
    kind = words.pop("wirings", "any" if words or strides == "best" else "strides")
    check_known("wirings", kind, _KINDS)
    if kind == "any" and not words and _few_choices(servers, degree, links):
        kind = "strides"
    if kind == "strides":
        for name in words:
            raise InvalidInput(f"{name}: has no meaning for strides; use wirings any")
        return ring_network(servers, degree, links=links, strides=strides)
    if strides != "best":
        raise InvalidInput(
            "strides: a rule or a list of strides is for wirings strides; leave it out for any"
        )
    if degree is None:
        raise InvalidInput("degree: missing; give the ports of a server, such as 4")
    request = WiringRequest(servers, degree, links, **_settings(words))
    return _answer(search_wirings(request, on_progress), on_progress)


def _few_choices(servers: int, degree: int | None, links: str) -> bool:
    """Return whether strides alone determine the wiring: ports reach every other server, or too few of them."""
    return degree is not None and (degree >= servers - 1 or degree < ring_interfaces(servers, links))


def write_wiring(path: str | Path, answer: RingNetwork | WiringAnswer) -> None:
    """Write the wiring file of an answer atomically."""
    if isinstance(answer, RingNetwork):
        wiring = with_rings(circulant_wiring(answer.servers, answer.strides, answer.links))
        answer = WiringAnswer(judged(wiring), ported(wiring))
    answer.write(str(path))


def _settings(words: WiringWords) -> dict[str, Any]:
    return {"budget_s" if name == "budget" else name: value for name, value in words.items()}


def _answer(found: FoundWirings, on_progress: Progress) -> WiringAnswer:
    on_progress("laying rings and ports", 0, 0)
    wiring, request = with_rings(found.chosen.wiring), found.request
    options = {
        **fields_of(request, "family", "objective", "seed"),
        "budget_s": found.search_s,
        "known_wirings": found.known,
        "ring_group": request.ring_group,
    }
    return WiringAnswer(
        replace(found.chosen, wiring=wiring),
        ported(wiring),
        found.frontier,
        options=options,
        looked_at=found.looked_at,
        interrupted=found.interrupted,
    )


@checked_arguments
def collective(
    op: str | None = None, bytes: Amount | None = None, **words: Unpack[CollectiveWords]
) -> CollectiveAnswer | CollectiveTimes:
    """Time a collective on a wiring or on accelerators, by every algorithm, and find the fastest.

    With ``accelerators``: its time among these behind switches, as in step times, also for other sizes. With ``runs``:
    the same beside every measured row of a table.

    Parameters
    ----------
    op
        ``allreduce``, ``all-gather``, ``reduce-scatter`` or ``all-to-all``.
    bytes
        The message, such as ``"1MB"`` or a number: the result of an all-gather, and the buffer of a server
        otherwise.
    **words
        The flags of ``topoopt collective`` with underscores: ``servers``, ``degree``, ``wiring``, ``strides`` …

    Returns
    -------
    CollectiveAnswer or CollectiveTimes

    Raises
    ------
    InvalidInput
        For an unknown option or name, options that exclude each other, a schedule of another operation, or an
        invalid wiring.
    NoRoute
        If a server cannot reach another.

    Examples
    --------
    >>> import topoopt
    >>> answer = topoopt.collective("allreduce", "1MB", servers=128, strides="1,15")
    >>> answer.chosen.schedule, f"{answer.time_s(answer.chosen) * 1e6:.1f} µs"
    ('bfb', '55.7 µs')
    >>> f"{answer.time_s(answer.quickest('ring')) * 1e6:.1f} µs"
    '293.7 µs'
    """
    settings = checked_words(words, CollectiveWords)
    ranks, fixed = pick(words, CollectiveRankWords), defaults(CollectiveWords)
    given = [
        word
        for word, value in {"op": op, "bytes": bytes, **words}.items()
        if value is not None and value is not False and value != fixed.get(word)
    ]
    asked = [word for word in given if word in ranks]
    if "runs" in asked:
        if others := [word for word in given if word != "runs"]:
            raise InvalidInput(
                f"{others[0]}: runs=FILE takes no other words, its rows have them; leave it out"
            )
        return collectives_of_table(os.fspath(words["runs"]))
    if op is None or bytes is None:
        raise InvalidInput(f"{'op' if op is None else 'bytes'}: missing; such as op=allreduce and bytes=1GB")
    check_known("op", op, OPERATIONS)
    size_bytes = amount(parse_bytes, bytes, "bytes")
    if not 0 < size_bytes < 1e18:
        raise InvalidInput(f"bytes: expected more than 0 and less than 1e18, got {size_bytes:g}")
    if asked:
        return _among_accelerators(op, size_bytes, {**settings, **ranks}, given)
    alpha_s = amount(parse_time, settings["alpha"], "alpha")
    if not 0 <= alpha_s < 1e6:
        raise InvalidInput(f"alpha: expected a time from 0 to 1e6 s, got {alpha_s:g}")
    return collective_answer(op, size_bytes, _wiring(settings), alpha_s, settings["schedule"])


def _among_accelerators(
    op: str, size_bytes: float, settings: Mapping[str, Any], given: Sequence[str]
) -> CollectiveTimes:
    """Return the time of a collective among accelerators behind switches."""
    for word in given:
        if word in (*CollectiveWiringWords.__annotations__, "schedule", "alpha"):
            raise InvalidInput(
                f"{word}: describes a wiring of servers, which accelerators do not have; leave it out"
            )
    if settings.get("accelerators") is None:
        raise InvalidInput("accelerators: missing; give their number, such as accelerators=64")
    check_known("fabric", settings["fabric"], ("ideal-switch", "rail", "fat-tree"))
    for word, who in (("nvls", "NVSwitches"), ("one_shot", "kernels of engines")):
        if settings.get(word) and op != "allreduce":
            raise InvalidInput(f"{word}: {who} reduce for an allreduce, not for {op}; leave it out")
    name = settings.get("accelerator") or DEFAULT_ACCELERATOR
    rate = settings.get("network_bandwidth")
    system = usual_system(
        name,
        settings.get("accelerators_per_server"),
        None,
        None if rate is None else amount(parse_bandwidth, rate, "network_bandwidth"),
        accelerators=settings["accelerators"],
    )
    ranks, full = settings["accelerators"], system.accelerators_per_server
    if rate is not None and ranks <= full:
        raise InvalidInput(
            f"network_bandwidth: {ranks} accelerators share one server (of {full}), so no network is used; leave it out"
        )
    reduced, how = (with_nvls(system, op), " by NVSwitches (NVLS)") if settings.get("nvls") else (system, "")
    one_shot = bool(settings.get("one_shot"))
    how += " by kernels of inference engines or NCCL" if one_shot else ""
    answer = collective_sizes(op, size_bytes, reduced, ranks, find_calibration(name), one_shot)
    return replace(answer, what=f"{answer.what}{how}")


def _wiring(words: Mapping[str, Any]) -> Wiring:
    bandwidth_bps = amount(parse_bandwidth, words.get("bandwidth", USUAL_BPS), "bandwidth")
    links, degree, servers = words.get("links"), words.get("degree"), words.get("servers")
    if links is not None:
        check_known("links", links, LINK_MODES)
    if degree is not None and degree < 1:
        raise InvalidInput(f"degree: expected an integer >= 1, got {degree}")
    named = os.fspath(words.get("wiring", ""))
    if "wiring" in words and "strides" in words:
        raise InvalidInput("strides: are a wiring of their own; give them or wiring")
    if "wiring" in words and is_file_name(words["wiring"], WIRED_DIRECTLY):
        if is_plan_file(named):
            return _wiring_of_plan(named, words)
        given_bps = bandwidth_bps if "bandwidth" in words else None
        wiring = read_wiring(named, given_bps, links, degree, usual_bps=bandwidth_bps)
        if servers not in (None, wiring.servers):
            raise InvalidInput(f"servers: {named} joins {wiring.servers}, got {servers}; leave it out")
        return wiring
    if servers is None:
        raise InvalidInput(
            "servers: missing; say how many, such as servers=128, or give a file of links as wiring"
        )
    ClusterSpec(servers, degree or 1, bandwidth_bps, links=links or "duplex")  # refuses what cannot be wired
    if "strides" in words:
        strides = listed_strides(words["strides"])
        if not strides:
            raise InvalidInput(f"strides: expected numbers with commas, such as 1,15, got {words['strides']}")
        return stride_wiring(servers, strides, bandwidth_bps, links or "duplex", degree)
    ports, mode = degree or USUAL_DEGREE, links or "duplex"
    if "wiring" not in words:
        return stride_wiring(servers, select_permutations(servers, ports, links=mode), bandwidth_bps, mode)
    return family_wiring(named, servers, ports, bandwidth_bps, mode, words.get("seed", 0))


def _wiring_of_plan(path: str, given: Collection[str]) -> Wiring:
    """Return the wiring of a plan file, whose ports and bandwidth are the plan's."""
    for word in ("servers", "degree", "links", "bandwidth", "seed"):
        if word in given:
            raise InvalidInput(f"{word}: {path} is a plan, which says it; leave it out")
    with expecting(path, "plan"):
        plan = read_plan(path)
    return wiring_of(path, plan.fabric.topology, plan.job.cluster.degree)
