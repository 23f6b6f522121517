"""``topoopt.collective``: a collective on a wiring, by every schedule."""

import os
from collections.abc import Collection, Mapping
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import parse_bandwidth, parse_bytes, parse_time
from topoopt.catalog import LINK_MODES, ClusterSpec
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
from topoopt.finder import listed_strides, select_permutations
from topoopt.frontends.verbs.input_sources import is_file_name, is_plan_file
from topoopt.jobs import expecting
from topoopt.plans import read_plan
from topoopt.schema.words import Amount, CollectiveWords, amount, checked_arguments, checked_words

USUAL_DEGREE, USUAL_BPS = 4, 100e9


@checked_arguments
def collective(op: str, bytes: Amount, **words: Unpack[CollectiveWords]) -> CollectiveAnswer:
    """Run a collective on a wiring: steps and bytes of every schedule, and the quickest for its size.

    Parameters
    ----------
    op
        ``allreduce``, ``all-gather``, ``reduce-scatter`` or ``all-to-all``.
    bytes
        The message, such as ``"1MB"`` or a number: of an all-gather what everyone has afterwards, of the others the
        buffer of a server.
    **words
        The flags of ``topoopt collective`` with underscores: ``servers``, ``degree``, ``wiring``, ``strides`` …

    Returns
    -------
    CollectiveAnswer

    Raises
    ------
    InvalidInput
        For an unknown word or name, a schedule that does not do the operation, or a wiring that is none.
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
    check_known("op", op, OPERATIONS)
    size_bytes = amount(parse_bytes, bytes, "bytes")
    if not 0 < size_bytes < 1e18:
        raise InvalidInput(f"bytes: expected more than 0 and less than 1e18, got {size_bytes:g}")
    alpha_s = amount(parse_time, settings["alpha"], "alpha")
    if not 0 <= alpha_s < 1e6:
        raise InvalidInput(f"alpha: expected a time from 0 to 1e6 s, got {alpha_s:g}")
    return collective_answer(op, size_bytes, _wiring(settings), alpha_s, settings["schedule"])


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
        said_bps = bandwidth_bps if "bandwidth" in words else None
        wiring = read_wiring(named, said_bps, links, degree, usual_bps=bandwidth_bps)
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
