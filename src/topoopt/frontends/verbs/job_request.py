"""Requests from the options of a job.

Missing options are those of the file, the preset and the defaults.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from topoopt.base.answers import digest
from topoopt.base.errors import InvalidInput, shown, unknown_name
from topoopt.base.units import format_bandwidth, parse_bandwidth, parse_delay
from topoopt.catalog import ClusterSpec
from topoopt.finder import STRIDES, cluster_of_wiring, is_wiring_file, named_wiring
from topoopt.frontends.verbs.pricing import assumed_network
from topoopt.jobs import (
    Described,
    Job,
    JobRequest,
    TrafficWork,
    cluster_places,
    parse_bucket,
    parse_microbatches,
    program_words,
    read_cluster_part,
    request_of,
)
from topoopt.schema.files import read_bytes
from topoopt.schema.words import FinderWords, SearchWords, TrainingWords, amount, defaults, pick
from topoopt.search import SearchOptions, is_transformer, preset
from topoopt.topologies.wirings import check_bandwidth
from topoopt.transformers import COUNTS_FROM_ZERO
from topoopt.workloads import MODELS, Traffic, resolve_variant

_RENAMED_OPTIONS = {"search": "mode", "alpha": "alpha_per_ms"}
Origin = tuple[tuple[str, str], ...]
NamedSource = str | os.PathLike[str] | JobRequest
"""A model's name, the path of a file, or a request that is made already."""
Source = NamedSource | Described
"""A named source, or a model described in Python."""
_SETTINGS = ("compute", "precision", "optimizer", "memory_check", "embedding_factor")
_RENAMED = {"embedding_factor": "embedding_bytes_factor"}
_NETWORK = {"degree": "degree", "bandwidth": "link_bandwidth_bps"}
_PLAIN_CLUSTER = ("servers", "degree", "accelerators_per_server", "accelerator", "links")
_LEAST = {"accelerators": 2, "zero": 0, **dict.fromkeys(COUNTS_FROM_ZERO, 0)}
"""Smallest value of a number of a training; 1 for all others."""


def job_request(source: Source, words: Mapping[str, Any]) -> JobRequest:
    """Return the request: the model or file, then the cluster, then the other options; the last one wins.

    Raises
    ------
    InvalidInput
        If a word has no value that it may have, or a file cannot be read.
    """
    for name in ("variant", "cluster", "profile_file"):
        if words.get(name) == "":
            raise InvalidInput(f"{name}: expected a name, got nothing")
    return (
        _source_request(source)
        .overlaid(_cluster_request(words.get("cluster")))
        .overlaid(
            JobRequest(
                variant=words.get("variant", ""),
                profile=words.get("profile_file", ""),
                training=_training(words),
                hyperparameters=dict(words.get("set", {})),
                batch_per_accelerator=_batch(words.get("batch_per_accelerator")),
                cluster=cluster_fields(words),
                settings=_settings(words),
            )
        )
    )


def _source_request(source: Source) -> JobRequest:
    if isinstance(source, JobRequest):
        return source
    return JobRequest(described=source) if isinstance(source, Described) else request_of(os.fspath(source))


def _cluster_request(cluster: Any) -> JobRequest:
    if cluster is None:
        return JobRequest()
    if isinstance(cluster, ClusterSpec):
        return JobRequest(cluster=asdict(cluster))
    if not isinstance(cluster, str | os.PathLike):
        raise InvalidInput(f"cluster: expected a file or a ClusterSpec, got {shown(cluster)}")
    path = os.fspath(cluster)
    part = read_cluster_part(path)
    return JobRequest(cluster=part, files=(path,), places=cluster_places(part, f"{path}: "))


def _training(words: Mapping[str, Any]) -> dict[str, Any]:
    training = training_words(words)
    for name, value in training.items():
        if value == "":
            raise InvalidInput(f"{name}: expected a name, got nothing")
        least = _LEAST.get(name, 1)
        if type(value) is int and value < least:
            raise InvalidInput(f"{name}: expected an integer >= {least}, got {value}")
    return training


def training_words(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the training options that are set: the command line also passes switches that are off."""
    usual = defaults(TrainingWords)
    return {name: value for name, value in pick(words, TrainingWords).items() if value != usual.get(name)}


def _settings(words: Mapping[str, Any]) -> dict[str, Any]:
    settings = {_RENAMED.get(name, name): value for name, value in pick(words, _SETTINGS).items()}
    if "bucket" in words:
        settings["bucket_bytes"] = parse_bucket(words["bucket"], "bucket")
    if "microbatches" in words:
        settings["microbatches"] = parse_microbatches(words["microbatches"], "microbatches")
    return settings


def cluster_fields(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a cluster given by options."""
    cluster = pick(words, _PLAIN_CLUSTER)
    for word, target in (
        ("bandwidth", "link_bandwidth_bps"),
        ("intra_server_bandwidth", "intra_server_bandwidth_bps"),
    ):
        if word in words:
            cluster[target] = amount(parse_bandwidth, words[word], word)
    if "latency" in words:
        cluster["link_latency_s"] = amount(parse_delay, words["latency"], "latency")
    return cluster


def _batch(batch: int | None) -> int:
    if batch is not None and batch < 1:
        raise InvalidInput(f"batch_per_accelerator: expected an integer >= 1, got {batch}")
    return batch or 0


def origin_of(request: JobRequest, job: Job) -> Origin:
    """Return the origin of the model, its times, and the assumed network, as facts."""
    if is_transformer(request):
        found: Origin = ()
        if request.config:
            found = (("model", f"from {request.config}"),)
        missing = [word for word, field in _NETWORK.items() if field not in request.cluster]
        if missing:
            cluster = job.cluster
            network = assumed_network(
                cluster.accelerator, cluster.degree, cluster.link_bandwidth_bps, missing
            )
            found += (("assumed", network),)
        return found
    if isinstance(job.work, TrafficWork) and request.traffic:
        return (("traffic", f"from {request.traffic}: {job.work.origin}"),)
    if request.described is not None:
        return (("model", "described in Python"),)
    profile = ("profile", request.profile)
    file = request.operators or request.program or (not request.model and request.profile)
    if file:
        read = ("model", f"from {file}")
        counted = (("counted", program_words(request)),) if request.program else ()
        return (read, *counted, profile) if request.operators or request.program else (read,)
    name, variant = resolve_variant(job.name)
    changes = dict(request.hyperparameters)
    if request.batch_per_accelerator:
        changes["batch_per_accelerator"] = request.batch_per_accelerator
    changed = ", ".join(f"{key}={value}" for key, value in changes.items())
    title = f"{MODELS[name].title}, {variant.name}: {variant.description}"
    missing = [f"--{word}" for word, field in _NETWORK.items() if field not in request.cluster]
    ports = f"{job.cluster.degree} × {format_bandwidth(job.cluster.link_bandwidth_bps)} per server"
    assumed = f"{ports}, as in the paper; change with {', '.join(missing)}" if missing else ""
    return ("model", title), ("changed", changed), ("assumed", assumed), profile


def search_options(request: JobRequest, words: Mapping[str, Any]) -> tuple[SearchOptions, JobRequest]:
    """Return the options, and the request with the preset's cost model.

    A preset is the lowest layer, a job file's ``search`` goes above it, options above both.

    Raises
    ------
    InvalidInput
        For an unknown preset, key or name, a value of the wrong kind, or a word about the search over operators where
        the job is a transformer.
    """
    in_file = dict(request.search)
    place = request.files[0] if request.files else "job file"
    with _placed(place):
        rules = dict(preset(str(in_file.pop("preset", "default"))))
    if "preset" in words:
        rules = dict(preset(words["preset"]))
    known = asdict(SearchOptions())
    costs = {key: rules.pop(key) for key in list(rules) if key not in known}
    if request.traffic or isinstance(
        request.described, Traffic
    ):  # bytes are bytes: there is nothing to count otherwise
        costs = {}
    options = {**rules, **_checked(in_file, known, place)}
    with _placed(place):  # before words are laid above it, whose mistakes are not the file's
        SearchOptions(**options)
    return SearchOptions(**{**options, **_options(words)}), replace(
        request, settings={**costs, **request.settings}, search={}
    )


def on_wiring_file(request: JobRequest, options: SearchOptions) -> JobRequest:
    """Return the request with servers, ports, links, bandwidth and latency of a wiring file where it has none.

    Raises
    ------
    InvalidInput
        If the file is none, or its links have another bandwidth than the one asked for.
    """
    asked = request.cluster
    said = cluster_of_wiring(options.wiring, asked.get("degree"), asked.get("links"))
    check_bandwidth(options.wiring, said.get("link_bandwidth_bps"), asked.get("link_bandwidth_bps"))
    return JobRequest(cluster=said).overlaid(request)


def wiring_digest(options: SearchOptions, cluster: ClusterSpec) -> dict[str, str]:
    """Return the SHA-256 of the wiring file, if there is one, by its name; and refuse a wiring that is for others.

    Raises
    ------
    Infeasible
        If the requested family has none with these servers and ports.
    InvalidInput
        If the file is none, or joins other servers.
    """
    if options.wiring in ("", STRIDES):
        return {}
    named_wiring(options.wiring, cluster.servers, cluster.degree, cluster.links, options.seed)
    if not is_wiring_file(options.wiring):
        return {}
    return {Path(options.wiring).name: digest(read_bytes(options.wiring))}


def refuse_search_words(request: JobRequest, words: Mapping[str, Any]) -> None:
    """Refuse options of the operator search for a transformer.

    Raises
    ------
    InvalidInput
        If there is one.
    """
    operator_words = pick(words, SearchWords)
    if operator_words and is_transformer(request):
        raise InvalidInput(
            f"{next(iter(operator_words))}: is for searches over operators; for a transformer give candidates"
        )


@contextmanager
def _placed(place: str) -> Iterator[None]:
    """Add the file to error messages about an option."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"{place}: search.{str(error).removeprefix('search ')}") from None


def _options(words: Mapping[str, Any]) -> dict[str, Any]:
    options = pick(words, FinderWords, SearchWords)
    if "wiring" in options:
        options["wiring"] = os.fspath(options["wiring"])
        if not options["wiring"]:
            raise InvalidInput('wiring: expected a family such as lifted, or a wiring file, got ""')
    return {_RENAMED_OPTIONS.get(name, name): value for name, value in options.items() if name != "preset"}


def _checked(options: Mapping[str, Any], known: Mapping[str, Any], place: str) -> dict[str, Any]:
    kinds = {int: "an integer", float: "a number", str: "text", bool: "true or false"}
    for key, value in options.items():
        if key not in known:
            raise unknown_name(f"{place}: search: key", key, [*known, "preset"])
        kind = type(known[key])
        allowed = (int, float) if kind is float else kind
        if isinstance(value, bool) != (kind is bool) or not isinstance(value, allowed):
            raise InvalidInput(f"{place}: search.{key}: expected {kinds[kind]}, got {shown(value)}")
    return dict(options)
