"""``topoopt.serving``: which deployment of a transformer answers users in time, for the least money."""

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Unpack

from topoopt.cost import Ownership, ownership
from topoopt.errors import InvalidInput, check_known
from topoopt.limits import whole
from topoopt.llm import System, usual_system
from topoopt.serving import (
    MODES,
    PRESETS,
    Demand,
    EngineSettings,
    Failure,
    Limits,
    Machine,
    Objectives,
    Parallelism,
    Question,
    RoleRule,
    ServingAnswer,
    Way,
    draw_requests,
    known_engine,
    parse_arrivals,
    parse_lengths,
    read_requests,
    serve,
)
from topoopt.units import parse_bandwidth, parse_time
from topoopt.verbs.llm.owned import cluster_of
from topoopt.verbs.llm.words import Transformer, model_of
from topoopt.verbs.plan import Progress, silent
from topoopt.words import ServingWords, amount, checked_arguments, checked_words, pick, refuse_empty

FEWEST = 100
"""Requests of which a share of nine tenths says something."""

MOST_ACCELERATORS = 2048

TTFT_S, TPOT_S = 2.0, 0.050
"""Objectives where none are given: a chat's reader waits no longer, and reads no faster."""

DEGREES = tuple(column.name for column in fields(Parallelism))
OF_TRAINING = ("samples", "tokens", "run_hours")


@checked_arguments
def serving(
    model: Transformer, *, on_progress: Progress = silent, **words: Unpack[ServingWords]
) -> ServingAnswer:
    """Say which deployment of a transformer answers users in time: pools, goodput, price, what binds.

    Every split of a replica, mode and share of prefill is looked at in closed form; what cannot hold the model or meet
    the objectives is left out. The most promising ones of each mode are simulated request by request, at the rate that
    is asked for, and at others to find the largest at which enough requests meet both objectives.

    Parameters
    ----------
    model
        A transformer's name, the ``config.json`` of Hugging Face, or a model.
    on_progress
        Called with the stage, what is done and what there is.
    **words
        The flags of ``topoopt serving`` with underscores: ``accelerators``, ``rate``, ``isl``, ``slo_ttft`` …

    Returns
    -------
    ServingAnswer
        With ``to_frame()`` and ``to_json()``.

    Raises
    ------
    InvalidInput
        For an unknown word or name, or a value that is not allowed.
    Infeasible
        If the model fits nowhere, an objective cannot be met, or the rate is more than is stable; with what is
        possible.

    Examples
    --------
    >>> import topoopt
    >>> asked = {"accelerators": 2, "rate": 4, "slo_ttft": "1s", "slo_tpot": "50ms", "duration": "1min"}
    >>> found = topoopt.serving("llama3-8b", **asked, mode="chunked", top=1)
    >>> found.meets, found.best.candidate.deployment.mode
    (True, 'chunked')
    """
    refuse_empty(words)
    settings = checked_words(words, ServingWords)
    for word in OF_TRAINING:
        if word in words:
            raise InvalidInput(f"{word}: is the size of a training; a service has a rate")
    accelerators = settings.get("accelerators")
    if accelerators is None:
        raise InvalidInput("accelerators: say how many accelerators there are")
    if whole("accelerators", accelerators, 1) > MOST_ACCELERATORS:
        raise InvalidInput(
            f"accelerators {accelerators}: at most {MOST_ACCELERATORS} are one service; more are several of them"
        )
    whole("seed", settings["seed"], 0)
    system = usual_system(
        settings["accelerator"],
        settings.get("accelerators_per_server"),
        None,
        amount(parse_bandwidth, settings["bandwidth"], "bandwidth") if "bandwidth" in settings else None,
        accelerators=accelerators,
    )
    question = Question(
        Machine(
            model_of(model, {}),
            settings["accelerator"],
            accelerators,
            system.accelerators_per_server,
            _engine(settings),
            known_engine(settings.get("engine", "")),
        ),
        _demand(settings),
        _objectives(settings),
        _limits(settings, accelerators),
        _way(settings, system, accelerators),
        _degrees(settings, ""),
        {**_degrees(settings, ""), **_degrees(settings, "prefill_")},
        settings["router"],
        _failures(settings.get("replica_failures")),
        _roles(settings.get("autoscale")),
        _owned(settings, system, accelerators),
        whole("top", settings["top"], 1),
        settings["seed"],
    )
    return serve(question, on_progress)


def _demand(words: Mapping[str, Any]) -> Demand:
    """Return the requests of a trace, or drawn ones."""
    if "trace" in words:
        path = os.fspath(words["trace"])
        requests = read_requests(path)
        rate = words.get("rate", requests.rate_per_s)
        if rate == float("inf"):
            raise InvalidInput(f"{path}: all requests come at once; give a trace that takes some time")
        return Demand(requests, rate, f"{len(requests):,} of {path}")
    arrivals = parse_arrivals(words["arrivals"])
    inputs, outputs = parse_lengths(words["isl"], "isl"), parse_lengths(words["osl"], "osl")
    duration_s = amount(parse_time, words["duration"], "duration")
    if arrivals.clients:
        if "rate" in words:
            raise InvalidInput("rate: clients that wait for answers have none; leave it out, or arrivals")
        count = 10 * arrivals.clients
        return Demand(
            draw_requests(arrivals, count, 1.0, inputs, outputs, words["seed"]),
            float("nan"),
            f"{count:,} of {arrivals.clients:,} clients",
        )
    if "rate" not in words:
        raise InvalidInput("rate: say how many requests come in a second, or give a trace")
    rate = words["rate"]
    if not 0 < rate < float("inf"):
        raise InvalidInput(f"rate: expected requests a second above 0, got {rate:g}")
    count = max(round(rate * duration_s), 1)
    if count < FEWEST:
        raise InvalidInput(
            f"duration {duration_s:g} s: only {count} requests come, too few to say a share of; take "
            f"{FEWEST / rate:g} s"
        )
    requests = draw_requests(arrivals, count, 1.0, inputs, outputs, words["seed"])
    return Demand(requests, rate, f"{count:,} in {duration_s:g} s, {words['arrivals']}")


def _objectives(words: Mapping[str, Any]) -> Objectives:
    preset = words.get("slo_preset")
    if preset is not None:
        check_known("slo_preset", preset, PRESETS)
    usual = PRESETS[preset] if preset else Objectives(TTFT_S, TPOT_S)
    times = {
        "ttft_s": amount(parse_time, words["slo_ttft"], "slo_ttft") if "slo_ttft" in words else usual.ttft_s,
        "tpot_s": amount(parse_time, words["slo_tpot"], "slo_tpot") if "slo_tpot" in words else usual.tpot_s,
    }
    return Objectives(**times, share=words.get("slo_share", usual.share))


def _engine(words: Mapping[str, Any]) -> EngineSettings:
    for word, low, high in (
        ("memory_share", 0.0, 1.0),
        ("accepted_tokens", 1.0, 1.0 + words["drafted_tokens"]),
    ):
        if not low < words[word] <= high and not low == words[word] == high:
            raise InvalidInput(f"{word}: expected a number from {low:g} to {high:g}, got {words[word]:g}")
    whole("page_tokens", words["page_tokens"], 1)
    for word in ("lora_adapters", "lora_rank"):
        whole(word, words[word], 0)
    same = [column.name for column in fields(EngineSettings) if column.name in words]
    return EngineSettings(
        **pick(words, same), adapters=words["lora_adapters"], adapter_rank=words["lora_rank"]
    )


def _limits(words: Mapping[str, Any], accelerators: int) -> Limits:
    mode = words.get("mode")
    if mode is not None:
        check_known("mode", mode, MODES)
    apart = [word for word in words if word.startswith("prefill_")]
    if apart and mode not in (None, "disaggregated"):
        raise InvalidInput(f"{apart[0]}: is for mode disaggregated, got {mode}")
    reading = words.get("prefill_accelerators")
    if reading is not None and not 0 < reading < accelerators:
        raise InvalidInput(f"prefill_accelerators {reading}: expected 1 to {accelerators - 1}, some answer")
    modes = (mode,) if mode else ("disaggregated",) if apart else MODES
    return Limits(
        accelerators,
        modes,
        whole("max_batch", words["max_batch"], 1),
        whole("token_budget", words["token_budget"], 1),
        reading,
    )


def _degrees(words: Mapping[str, Any], prefix: str) -> dict[str, int]:
    return {name: whole(prefix + name, words[prefix + name], 1) for name in DEGREES if prefix + name in words}


def _way(words: Mapping[str, Any], system: System, accelerators: int) -> Way:
    """Return how caches are sent: between servers by the network, within one by its scale-up links."""
    inside = accelerators <= system.accelerators_per_server
    bits = system.scale_up_bandwidth_bps if inside else system.network_bandwidth_bps
    if "transfer_bandwidth" in words:
        bits = amount(parse_bandwidth, words["transfer_bandwidth"], "transfer_bandwidth")
    share = words["transfer_share"]
    if not 0 < share <= 1:
        raise InvalidInput(f"transfer_share: expected a share above 0 and up to 1, got {share:g}")
    return Way(
        bits / 8,
        amount(parse_time, words["transfer_setup"], "transfer_setup"),
        share,
        not words["whole_caches"],
    )


def _failures(text: str | None) -> tuple[Failure, ...]:
    found = []
    for part in (text or "").split(",") if text else []:
        pieces = part.strip().split(":")
        if len(pieces) != 3 or not pieces[0].isdigit():
            raise InvalidInput(
                f"replica_failures: expected REPLICA:FROM:TO such as 0:60s:120s, got {part.strip()}"
            )
        begin, end = (parse_time(piece, "replica_failures") for piece in pieces[1:])
        found.append(Failure(int(pieces[0]), begin, end))
    return tuple(found)


def _roles(text: str | None) -> RoleRule | None:
    if text is None:
        return None
    pieces = text.split(":")
    if len(pieces) != 3 or not pieces[2].isdigit():
        raise InvalidInput(f"autoscale: expected EVERY:TURN:TOKENS such as 10s:30s:20000, got {text}")
    every, turn = (parse_time(piece, "autoscale") for piece in pieces[:2])
    return RoleRule(every, turn, float(pieces[2]))


def _owned(words: Mapping[str, Any], system: System, accelerators: int) -> Ownership:
    cluster = cluster_of(words, system, accelerators)
    return ownership(cluster.terms, cluster.servers, cluster.network)
