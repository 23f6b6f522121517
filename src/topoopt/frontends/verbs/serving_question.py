"""Question of a served model from its options: hardware, requests, objectives, given deployment, and network."""

import os
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from topoopt.base.errors import InvalidInput, TopoOptError, check_known
from topoopt.base.limits import whole
from topoopt.base.units import parse_bandwidth, parse_delay, parse_time
from topoopt.catalog import ClusterSpec, check_networks, compared_by, reference_interfaces
from topoopt.frontends.verbs.llm.words import Transformer, model_of
from topoopt.frontends.verbs.pricing import assumed_by, cluster_of, ownership_terms, pricing
from topoopt.frontends.verbs.serving_cells import cells_of, words_of_a_cell
from topoopt.inference import (
    FREE_BYTES_PER_S,
    MODES,
    PAIRINGS,
    Demand,
    DeploymentPart,
    EngineSettings,
    Failure,
    Limits,
    Machine,
    NetworkQuestion,
    Objectives,
    Priced,
    Question,
    RoleRule,
    SentBy,
    ServerFailure,
    Way,
    deployment_preset,
    draw_requests,
    given_deployment,
    known_engine,
    objective_presets,
    parse_arrivals,
    parse_lengths,
    read_requests,
    transfer_law,
)
from topoopt.jobs import is_serving_job, read_serving_job
from topoopt.pricing import Ownership, ownership
from topoopt.schema.words import ServingWords, ShapeWords, amount, checked_words, pick, refuse_empty
from topoopt.transformers import System, usual_system
from topoopt.workloads.transformer import TransformerModel

FEWEST = 100
"""Least requests for a meaningful share of nine tenths."""

UNASKED = 4000
"""Requests simulated to find the goodput, without a requested rate."""

TTFT_S, TPOT_S = 2.0, 0.050
"""Objectives where none are given: a chat's reader waits no longer, and reads no faster."""

FREE = "free"

OF_TRAINING = ("samples", "tokens", "run_hours")

DRAWN = ("isl", "osl", "arrivals", "duration")
"""Options of requests that are drawn."""
_POOLS = ("mode", "decode", "prefill", "prefill_accelerators")
INSTEAD: Mapping[str, tuple[str, ...]] = {
    "trace": DRAWN,
    "servers": ("accelerators",),
    "accelerators": ("servers",),
    "deployment": _POOLS,
    **dict.fromkeys(_POOLS, ("deployment",)),
}
"""Options that replace each other."""


def served_question(source: Transformer, given: Mapping[str, Any]) -> Question:
    """Return the question from options, or from a serving job with overrides.

    Raises
    ------
    InvalidInput
        For an unknown option or model, or an invalid value, with the valid ones.
    """
    if isinstance(source, str | os.PathLike) and is_serving_job(os.fspath(source)):
        path = os.fspath(source)
        model, of_file = read_serving_job(path)
        kept = _without_replaced(of_file, given)
        if model is None and not kept.keys() & ShapeWords.__annotations__.keys():
            raise InvalidInput(f"{path}: serving.model: missing; name a transformer (topoopt models)")
        try:
            return _of_words(model, {**kept, **given})
        except TopoOptError as error:
            if str(error).partition(":")[0].split(" ")[0] in kept.keys() - given.keys():
                raise type(error)(f"{path}: serving.{error}") from None
            raise
    return _of_words(source, given)


def _of_words(source: Transformer, given: Mapping[str, Any]) -> Question:
    refuse_empty(given)
    words = checked_words({**_of_preset(source, given), **given}, ServingWords)
    for word in OF_TRAINING:
        if word in given:
            raise InvalidInput(f"{word}: is the size of a training; a service has a rate")
    for word in DRAWN:
        if word in given and "trace" in words:
            raise InvalidInput(
                f"{word}: the requests of a trace are what they are; leave it out, or the trace"
            )
    if "columns" in given and "trace" not in words:
        raise InvalidInput("columns: says how a trace is read; give the trace, too")
    if "duration" in given and "rate" not in words:
        raise InvalidInput("duration: has no effect without rate; leave it out, or give a rate")
    return _question(model_of(source, words), words)


def _of_preset(source: Transformer, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options of a known deployment, which must be of this model."""
    preset = given.get("preset")
    if preset is None:
        return {}
    served, words = deployment_preset(preset)
    if model_of(source, {}) != model_of(served, {}):
        raise InvalidInput(
            f"preset {preset}: is a deployment of {served}; name that model, or leave the preset out"
        )
    return _without_replaced(words, given)


def _without_replaced(of_file: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a file or preset that the caller does not override."""
    gone = {other for word in given for other in INSTEAD.get(word, ())}
    return {word: value for word, value in of_file.items() if word not in gone}


def _question(model: TransformerModel, words: Mapping[str, Any]) -> Question:
    given = given_deployment(words)
    system, accelerators = _machines(words, given)
    cells = cells_of(accelerators, system.accelerators_per_server)
    if cells > 1:
        accelerators //= cells
        words, given = words_of_a_cell(words, given, cells, accelerators)
    servers = -(-accelerators // system.accelerators_per_server)
    network = _network(words, system, servers) if servers > 1 else None
    if network is None:
        _refuse_network_words(words, accelerators)
    mode = words.get("mode", given.mode if given else None)
    preset = words.get("slo_preset")
    if preset is not None:
        check_known("slo_preset", preset, objective_presets())
    usual = objective_presets()[preset] if preset else Objectives(TTFT_S, TPOT_S)
    times = {
        "ttft_s": amount(parse_time, words["slo_ttft"], "slo_ttft") if "slo_ttft" in words else usual.ttft_s,
        "tpot_s": amount(parse_time, words["slo_tpot"], "slo_tpot") if "slo_tpot" in words else usual.tpot_s,
    }
    objectives = Objectives(**times, share=words.get("slo_share", usual.share))
    failures = tuple(
        Failure(*one) for one in _down(words.get("replica_failures"), "replica_failures", "REPLICA")
    )
    known_engine(words["engine"])
    return Question(
        Machine(model, system, accelerators, engine_settings(words)),
        _demand(words, cells),
        objectives,
        _limits(words, accelerators, given, mode),
        _way(words, system, servers),
        asdict(given.decode.split) if given else {},
        asdict((given.prefill or given.decode).split) if given else {},
        words.get("router"),
        failures,
        _server_failures(words.get("server_failures"), servers),
        _roles(words.get("autoscale")),
        _owned(words, system, accelerators) if network is None else None,
        network,
        whole("top", words["top"], 1),
        words["seed"],
        cells,
    )


def _machines(words: Mapping[str, Any], given: DeploymentPart | None) -> tuple[System, int]:
    """Return the hardware and the number of accelerators used."""
    if "accelerators" in words and "servers" in words:
        raise InvalidInput("servers: give accelerators or servers, not both")
    accelerators = words.get("accelerators")
    if accelerators is None and given is not None and "servers" not in words:
        accelerators = given.accelerators or given.needed
    system = usual_system(
        words["accelerator"],
        words.get("accelerators_per_server"),
        None,
        amount(parse_bandwidth, words["bandwidth"], "bandwidth") if "bandwidth" in words else None,
        amount(parse_delay, words["latency"], "latency"),
        accelerators=accelerators,
    )
    if accelerators is None and "servers" in words:
        accelerators = whole("servers", words["servers"], 1) * system.accelerators_per_server
    if accelerators is None:
        raise InvalidInput("accelerators: missing; give accelerators or servers")
    whole("accelerators", accelerators, 1)
    if given is not None and (given.needed or 0) > accelerators:
        raise InvalidInput(f"accelerators {accelerators}: the deployment that is given has {given.needed}")
    return system, accelerators


def _network(words: Mapping[str, Any], system: System, servers: int) -> NetworkQuestion:
    if "transfer_bandwidth" in words:
        raise InvalidInput(
            "transfer_bandwidth: is of one server; between several caches go over ports, whose word is bandwidth"
        )
    names = tuple(dict.fromkeys(words.get("fabrics", compared_by("serving"))))
    if not names:
        raise InvalidInput("fabrics: expected at least one")
    check_networks("fabrics", names, "serving")
    pairing = words["pairing"]
    check_known("pairing", pairing, (FREE, *PAIRINGS))
    per_server = system.accelerators_per_server
    degree, bandwidth_bps = reference_interfaces(per_server, system.network_bandwidth_bps)
    if "degree" in words:
        degree, bandwidth_bps = words["degree"], system.network_bandwidth_bps
    cluster = ClusterSpec(
        servers,
        degree,
        bandwidth_bps,
        per_server,
        words["accelerator"],
        system.scale_up_bandwidth_bps,
        system.network_latency_s,
    )
    return NetworkQuestion(
        cluster,
        names,
        Priced(pricing(words), ownership_terms(words, words["accelerator"], per_server)),
        tuple(PAIRINGS) if pairing == FREE else (pairing,),
        SentBy(dispatch=words["dispatch"]),
        assumed_by(words, system, servers * per_server, "degree", "bandwidth"),
    )


def _refuse_network_words(words: Mapping[str, Any], accelerators: int) -> None:
    for word in ("degree", "fabrics"):
        if word in words:
            raise InvalidInput(
                f"{word}: the {accelerators} accelerators are in one server, which needs no network; leave it out, or "
                "take more accelerators, or fewer accelerators_per_server"
            )


def _demand(words: Mapping[str, Any], cells: int) -> Demand:
    """Return the requests of a trace, of several cells every such one, or drawn ones."""
    if "trace" in words:
        path = os.fspath(words["trace"])
        trace = read_requests(path, words.get("columns", ""))
        requests = trace.requests.taken(slice(None, None, cells))
        rate = words.get("rate", requests.rate_per_s)
        if rate == float("inf"):
            raise InvalidInput(f"{path}: all requests come at once; give a trace that takes some time")
        return Demand(requests, rate, str(trace), trace)
    arrivals = parse_arrivals(words["arrivals"])
    inputs, outputs = parse_lengths(words["isl"], "isl"), parse_lengths(words["osl"], "osl")
    duration_s = amount(parse_time, words["duration"], "duration")
    if arrivals.clients:
        if "rate" in words:
            raise InvalidInput("rate: clients that wait for answers have none; leave it out, or arrivals")
        count = 10 * arrivals.clients
        return Demand(
            draw_requests(arrivals, count, 1.0, inputs, outputs, words["seed"]),
            None,
            f"{count:,} of {arrivals.clients:,} clients",
        )
    if "rate" not in words:
        requests = draw_requests(arrivals, UNASKED, 1.0, inputs, outputs, words["seed"])
        return Demand(
            requests, None, f"{UNASKED:,}, {words['arrivals']}, as many a second as are answered in time"
        )
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


def _limits(
    words: Mapping[str, Any], accelerators: int, given: DeploymentPart | None, mode: str | None
) -> Limits:
    if mode is not None:
        check_known("mode", mode, MODES)
    apart = "prefill_accelerators" in words or (given is not None and given.prefill is not None)
    if apart and mode not in (None, "disaggregated"):
        word = "prefill_accelerators" if "prefill_accelerators" in words else "prefill"
        raise InvalidInput(f"{word}: is for mode disaggregated, got {mode}")
    reading = words.get("prefill_accelerators")
    if reading is not None and not 0 < reading < accelerators:
        raise InvalidInput(f"prefill_accelerators {reading}: expected 1 to {accelerators - 1}, some answer")
    modes = (mode,) if mode else ("disaggregated",) if apart else MODES
    limits = Limits(
        accelerators,
        modes,
        whole("max_batch", words["max_batch"], 1),
        whole("token_budget", words["token_budget"], 1),
        reading,
    )
    if given is None:
        return limits
    return replace(
        limits,
        max_batch=given.max_batch or limits.max_batch,
        token_budget=given.token_budget or limits.token_budget,
        replicas=given.decode.replicas,
        prefill_replicas=given.prefill.replicas if given.prefill else None,
    )


def _way(words: Mapping[str, Any], system: System, servers: int) -> Way:
    """Return the cache transfer: within a server by its scale-up links; between servers a fabric replaces it."""
    bytes_per_s = FREE_BYTES_PER_S
    if servers == 1:
        bits = system.scale_up_bandwidth_bps
        if "transfer_bandwidth" in words:
            bits = amount(parse_bandwidth, words["transfer_bandwidth"], "transfer_bandwidth")
        bytes_per_s = bits / 8
    law = transfer_law()
    if "transfer_share" in words:
        share = words["transfer_share"]
        if not 0 < share <= 1:
            raise InvalidInput(f"transfer_share: expected a share above 0 and up to 1, got {share:g}")
        law = replace(law, efficiency=share)
    if "transfer_setup" in words:
        law = replace(law, start_s=amount(parse_time, words["transfer_setup"], "transfer_setup"))
    return Way(bytes_per_s, law, not words["whole_caches"])


def _server_failures(text: str | None, servers: int) -> tuple[ServerFailure, ...]:
    found = tuple(ServerFailure(*one) for one in _down(text, "server_failures", "SERVER"))
    for one in found:
        if one.server >= servers:
            there = f"there are servers 0 to {servers - 1}" if servers > 1 else "there is only server 0"
            raise InvalidInput(f"server_failures: server {one.server}: {there}")
        if not 0 <= one.begin_s < one.end_s:
            raise InvalidInput(
                f"server_failures: expected a begin before the end, got {one.begin_s:g} to {one.end_s:g} s"
            )
    return found


def _down(text: str | None, word: str, noun: str) -> list[tuple[int, float, float]]:
    """Return the failures in a text: part, begin and end."""
    found = []
    for part in (text or "").split(",") if text else []:
        pieces = part.strip().split(":")
        if len(pieces) != 3 or not pieces[0].isdigit():
            raise InvalidInput(f"{word}: expected {noun}:FROM:TO such as 0:60s:120s, got {part.strip()}")
        begin, end = (parse_time(piece, word) for piece in pieces[1:])
        found.append((int(pieces[0]), begin, end))
    return found


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


def engine_settings(words: Mapping[str, Any]) -> EngineSettings:
    """Return the settings of an engine.

    Raises
    ------
    InvalidInput
        For numbers out of their range, and for adapters of no rank or a rank of no adapters.
    """
    words = {"memory_share": EngineSettings(engine=words["engine"]).share, **words}
    for word, low, high in (
        ("memory_share", 0.0, 1.0),
        ("accepted_tokens", 1.0, 1.0 + words["drafted_tokens"]),
    ):
        if not low < words[word] <= high and not low == words[word] == high:
            raise InvalidInput(f"{word}: expected a number from {low:g} to {high:g}, got {words[word]:g}")
    whole("page_tokens", words["page_tokens"], 1)
    same = [column.name for column in fields(EngineSettings) if column.name in words]
    adapters, rank = (whole(word, words[word], 0) for word in ("lora_adapters", "lora_rank"))
    if bool(adapters) != bool(rank):
        missing, given = ("lora_rank", "lora_adapters") if adapters else ("lora_adapters", "lora_rank")
        raise InvalidInput(
            f"{missing}: missing beside {given} {words[given]}; adapters have a number and a rank"
        )
    return EngineSettings(**pick(words, same), adapters=adapters, adapter_rank=rank)
