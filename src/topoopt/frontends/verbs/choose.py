"""``topoopt.choose``: the best network to buy for a mix of jobs."""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import whole
from topoopt.base.units import parse_bandwidth, parse_time
from topoopt.catalog import DEFAULT_ACCELERATOR, ClusterSpec, compared_by
from topoopt.frontends.verbs.pricing import ownership_terms, pricing
from topoopt.frontends.verbs.sweep import kept_crew
from topoopt.pricing import (
    LINK_TECHNOLOGIES,
)
from topoopt.schema.words import (
    ChooseWords,
    amount,
    checked_arguments,
    checked_words,
)
from topoopt.search import SearchOptions, is_transformer
from topoopt.studies.choice import (
    Choice,
    Machines,
    Mix,
    Owner,
    Question,
    Store,
    network_grid,
    read_mix,
    write_choice,
)
from topoopt.studies.choice import choose as choose_network
from topoopt.studies.sweep import request_of
from topoopt.transformers import usual_system

SERVERS = 64
STORE = "plans.duckdb"
"""File in the folder of an answer with all its plans, for ``topoopt.results`` and the next call."""
T = TypeVar("T")


@checked_arguments
def choose(
    jobs: str | os.PathLike[str] | Sequence[str],
    *,
    out: str | os.PathLike[str] | None = None,
    on_progress: Progress = silent,
    **words: Unpack[ChooseWords],
) -> Choice:
    """Choose the network to buy for a mix of jobs: every degree, bandwidth and fabric, cost against time.

    Networks are priced first. Candidates for the front of cost and time are planned for every job of the mix, until no
    other can be on it. The choice is the network of the front on which a year of work costs least, or the best within
    a limit; the answer also gives the changes that would alter it.

    Parameters
    ----------
    jobs
        ``MODEL``, ``MODEL:SHARE`` or ``MODEL@SERVERS:SHARE`` of each job, a model being a name or a job file and a
        share one of the year; or a mix file.
    out
        A folder for the answer, a table of all networks, and the plans: the next call with it plans only missing
        networks.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt choose`` with underscores: ``servers``, ``degrees``, ``bandwidths``, ``budget_usd`` …

    Returns
    -------
    Choice
        Answer with ``to_frame()`` and ``to_json()``.

    Raises
    ------
    InvalidInput
        For an unknown option or name, or an invalid value.
    Infeasible
        If no network carries every job and has a price, or none meets the limit.

    Examples
    --------
    >>> import topoopt
    >>> asked = {"servers": 4, "degrees": [2], "bandwidths": ["100Gbps"], "fabrics": ["topoopt", "rail"]}
    >>> found = topoopt.choose(["vgg16:0.7", "dlrm:0.3"], **asked, proposals=10, processes=1)
    >>> found.decision.point.network.name
    'topoopt 2 × 100 Gb/s'
    """
    settings = checked_words(words, ChooseWords)
    question = _question(jobs, settings)
    with kept_crew(settings["processes"], settings.get("ray")) as crew:
        if out is None:
            with tempfile.TemporaryDirectory() as place:
                return choose_network(question, Store(str(Path(place) / STORE), crew), on_progress)
        folder = Path(os.fspath(out))
        folder.mkdir(parents=True, exist_ok=True)
        store = Store(str(folder / STORE), crew, mix_versions=settings["mix_versions"])
        answer = choose_network(question, store, on_progress)
    write_choice(str(folder), answer)
    return answer


def _question(jobs: str | os.PathLike[str] | Sequence[str], words: Mapping[str, Any]) -> Question:
    named = [os.fspath(jobs)] if isinstance(jobs, str | os.PathLike) else [str(job) for job in jobs]
    mix = read_mix(named, _listed(words.get("weights", ()), "weights", str))
    machines = _machines(words, mix)
    links = tuple(words.get("link_technologies", ("pluggable",)))
    for name in links:
        check_known("link_technologies", name, LINK_TECHNOLOGIES)
    networks = network_grid(
        machines.servers,
        _listed(words["degrees"], "degrees", lambda value: int(str(value))),
        _listed(words["bandwidths"], "bandwidths", lambda rate: amount(parse_bandwidth, rate, "bandwidths")),
        tuple(words.get("fabrics", compared_by("choose"))),
        links,
    )
    search = {"budget": words.get("proposals", SearchOptions().budget), "seeds": words["seed"]}
    deadline = words.get("deadline")
    owner = Owner(
        machines.servers,
        pricing(words),
        ownership_terms(words, machines.accelerator, machines.accelerators_per_server),
        not words["network_only"],
    )
    return Question(
        mix,
        networks,
        machines,
        owner,
        words.get("budget_usd"),
        None if deadline is None else amount(parse_time, deadline, "deadline"),
        search,
        words["exact"],
    )


def _machines(words: Mapping[str, Any], mix: Mix) -> Machines:
    """Return the servers, by default those of ``topoopt plan`` for such jobs; enough for the accelerators."""
    accelerators, servers = words.get("accelerators"), words.get("servers")
    given = {word: words[word] for word in ("accelerator", "accelerators_per_server") if word in words}
    if "intra_server_bandwidth" in words:
        rate = amount(parse_bandwidth, words["intra_server_bandwidth"], "intra_server_bandwidth")
        given["intra_server_bandwidth_bps"] = rate
    if any(is_transformer(request_of(one.job, one.folder)) for one in mix):
        system = usual_system(
            given.get("accelerator", DEFAULT_ACCELERATOR),
            given.get("accelerators_per_server"),
            given.get("intra_server_bandwidth_bps"),
            1.0,
            accelerators=accelerators,
        )
        each, scale_up_bps = system.accelerators_per_server, system.scale_up_bandwidth_bps
        accelerator = system.accelerator
    else:
        usual = ClusterSpec(2, 1, 1.0, **given)
        each, scale_up_bps = usual.accelerators_per_server, usual.intra_server_bandwidth_bps
        accelerator = usual.accelerator
    if accelerators is not None:
        if servers is not None:
            raise InvalidInput("accelerators: servers are given, too; leave one of them out")
        servers, rest = divmod(accelerators, each)
        if rest or servers < 2:
            raise InvalidInput(
                f"accelerators {accelerators}: must be two or more servers of {each}; give accelerators_per_server, too"
            )
    servers = whole("servers", SERVERS if servers is None else servers, 2)
    return Machines(servers, accelerator, each, scale_up_bps)


def _listed(values: Any, word: str, read: Callable[[Any], T]) -> tuple[T, ...]:
    """Return the values of a list, also of a text with commas."""
    parts = [part.strip() for part in values.split(",")] if isinstance(values, str) else list(values)
    try:
        return tuple(read(part) for part in parts)
    except ValueError:
        raise InvalidInput(f'{word}: expected numbers with commas, got "{values}"') from None
