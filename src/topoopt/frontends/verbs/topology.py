"""``topoopt.topology``: the best rings or the best wiring for so many servers and ports, and how far apart they are."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.progress import Progress, silent
from topoopt.finder import RingNetwork, ring_interfaces, ring_network
from topoopt.finder.rewiring import ported
from topoopt.frontends.verbs.input_sources import wiring_of_file, with_rings
from topoopt.schema.words import WiringWords, checked_arguments
from topoopt.topologies import LINK_MODELS, circulant_wiring
from topoopt.topologies.wirings import FoundWirings, WiringAnswer, WiringRequest, judged, search_wirings

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
    """Choose the best wiring of so many ports, or the AllReduce rings of all servers, and return the network.

    All wirings are looked at where nothing else is said; a rule of strides, a list of them, or ``wirings="strides"``
    asks for rings along strides, as the paper has them, and as there are where ports reach all other servers.

    Parameters
    ----------
    degree
        Ports of a server; not needed with a list of strides.
    links
        ``duplex`` (a port is a fiber pair to one neighbor; where not given) or ``directed`` (it sends to one and hears
        another).
    strides
        The rule that chooses the rings (``best``, ``nearest``, ``lower-bound``), or the strides themselves.
    file
        A wiring file, a list of links or a plan, to be read in place of all else; ``links`` and ``degree`` (of which
        some ports are idle) are for a list of links.
    on_progress
        Called with what is going on, how much of it is done, and how much there is.

    Returns
    -------
    RingNetwork or WiringAnswer
        The first where strides are asked for.

    Raises
    ------
    InvalidInput
        For an unknown rule, or what cannot be wired; for a file with a wrong degree, a missing cable end or two parts.
    Infeasible
        For a family that does not exist for so many servers and ports, with the nearest at which it does.

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
            raise InvalidInput(f"{name}: the wiring file says it; give either a file or servers and degree")
        return _read(file, links, degree)
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
    """Return whether only strides say what can be wired: ports reach every other server, or too few of them."""
    return degree is not None and (degree >= servers - 1 or degree < ring_interfaces(servers, links))


def write_wiring(path: str | Path, answer: RingNetwork | WiringAnswer) -> None:
    """Write the wiring file of an answer, whole or not at all."""
    if isinstance(answer, RingNetwork):
        wiring = with_rings(circulant_wiring(answer.servers, answer.strides, answer.links))
        answer = WiringAnswer(judged(wiring), ported(wiring))
    answer.write(str(path))


def _settings(words: WiringWords) -> dict[str, Any]:
    """Return the words by the names of the request."""
    return {"budget_s" if name == "budget" else name: value for name, value in words.items()}


def _answer(found: FoundWirings, on_progress: Progress) -> WiringAnswer:
    on_progress("laying rings and ports", 0, 0)
    wiring, request = with_rings(found.chosen.wiring), found.request
    options = {
        "family": request.family,
        "objective": request.objective,
        "seed": request.seed,
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


def _read(file: str, links: str | None, degree: int | None) -> WiringAnswer:
    wiring, ports = wiring_of_file(file, links, degree)
    wiring = with_rings(wiring)
    return WiringAnswer(judged(wiring), ports or ported(wiring), source=file)
