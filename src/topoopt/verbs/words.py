"""The words with which people ask: keyword arguments in Python, flags on the command line, and what they come to.

A word is called like its flag, with underscores. Amounts are text with a unit (``"100Gbps"``) or numbers in SI units.
What is not given is left to the file that is asked about, to the preset and to the defaults.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypedDict

from topoopt.errors import InvalidInput, unknown_name
from topoopt.hardware import ClusterSpec
from topoopt.job import Described, JobRequest, cluster_places, read_cluster_part, request_of
from topoopt.units import parse_bandwidth, parse_bytes, parse_time

Amount = str | float
NamedSource = str | os.PathLike[str] | JobRequest
"""A model's name, the path of a file, or a request that is made already."""

Source = NamedSource | Described
"""The same, or a model that is described in Python."""


class JobWords(TypedDict, total=False):
    """Which model on which cluster, and how its costs are counted."""

    variant: str
    set: Mapping[str, Any]
    batch_per_accelerator: int
    cluster: str | os.PathLike[str] | ClusterSpec
    servers: int
    degree: int
    bandwidth: Amount
    accelerators_per_server: int
    accelerator: str
    intra_server_bandwidth: Amount
    latency: Amount
    links: str
    compute: str
    profile_file: str
    precision: str
    optimizer: str
    memory_check: str
    embedding_factor: int
    bucket: Amount


class TrainingWords(TypedDict, total=False):
    """How a transformer is trained; what is not given is searched."""

    accelerators: int
    global_batch: int
    seq: int
    tp: int
    pp: int
    dp: int
    cp: int
    ep: int
    etp: int
    vpp: int
    micro_batch: int
    zero: int
    recompute: str
    calibration: str
    loads: str
    candidates: int


class FinderWords(TypedDict, total=False):
    """Rules of the topology finder."""

    preset: str
    degree_split: str
    strides: str
    damping: str
    routing: str
    seed: int


class SearchWords(TypedDict, total=False):
    """How long and in which way to search over operators."""

    search: str
    budget: int
    baseline_budget: int
    chains: int
    rounds: int
    alpha: float
    processes: int


class PlanWords(JobWords, TrainingWords, FinderWords, SearchWords, total=False):
    """All words that :func:`topoopt.plan` takes."""


JOB_WORDS = tuple(JobWords.__annotations__)
TRAINING_WORDS = tuple(TrainingWords.__annotations__)
FINDER_WORDS = tuple(FinderWords.__annotations__)
SEARCH_WORDS = tuple(SearchWords.__annotations__)

_SETTINGS = {
    "compute": "compute",
    "precision": "precision",
    "optimizer": "optimizer",
    "memory_check": "memory_check",
    "embedding_factor": "embedding_bytes_factor",
}
_PLAIN_CLUSTER = ("servers", "degree", "accelerators_per_server", "accelerator", "links")
_LEAST = {"accelerators": 2, "zero": 0}
"""Smallest value of a number of a training; 1 for all others."""


def check_words(words: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a misspelled word.

    Raises
    ------
    InvalidInput
        With the nearest known words.
    """
    for word in words:
        if word not in known:
            raise unknown_name("word", word, known)


def job_request(source: Source, words: Mapping[str, Any]) -> JobRequest:
    """Return what is asked for: the model or file, then the cluster, then the other words; the last one wins.

    Raises
    ------
    InvalidInput
        If a word has no value that it may have, or a file cannot be read.
    """
    for name in ("variant", "cluster", "profile_file"):
        if words.get(name) == "":
            raise InvalidInput(f"{name}: expected a name, got nothing")
    return (
        _asked(source)
        .overlaid(_cluster_request(words.get("cluster")))
        .overlaid(
            JobRequest(
                variant=words.get("variant", ""),
                profile=words.get("profile_file", ""),
                training=_training(words),
                hyperparameters=dict(words.get("set", {})),
                batch_per_accelerator=_batch(words.get("batch_per_accelerator")),
                cluster=_cluster(words),
                settings=_settings(words),
            )
        )
    )


def _asked(source: Source) -> JobRequest:
    if isinstance(source, JobRequest):
        return source
    return JobRequest(described=source) if isinstance(source, Described) else request_of(os.fspath(source))


def _cluster_request(cluster: Any) -> JobRequest:
    if cluster is None:
        return JobRequest()
    if isinstance(cluster, ClusterSpec):
        return JobRequest(cluster=asdict(cluster))
    path = os.fspath(cluster)
    part = read_cluster_part(path)
    return JobRequest(cluster=part, files=(path,), places=cluster_places(part, f"{path}: "))


def _training(words: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: words[name] for name in TRAINING_WORDS if name in words}
    for name, value in given.items():
        if value == "":
            raise InvalidInput(f"{name}: expected a name, got nothing")
        least = _LEAST.get(name, 1)
        if isinstance(value, int) and value < least:
            raise InvalidInput(f"{name}: expected an integer >= {least}, got {value}")
    return given


def _settings(words: Mapping[str, Any]) -> dict[str, Any]:
    given = {target: words[name] for name, target in _SETTINGS.items() if name in words}
    if "bucket" in words:
        given["bucket_bytes"] = round(amount(parse_bytes, words["bucket"], "bucket"))
    return given


def _cluster(words: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: words[name] for name in _PLAIN_CLUSTER if name in words}
    for word, target in (
        ("bandwidth", "link_bandwidth_bps"),
        ("intra_server_bandwidth", "intra_server_bandwidth_bps"),
    ):
        if word in words:
            given[target] = amount(parse_bandwidth, words[word], word)
    if "latency" in words:
        given["link_latency_s"] = amount(parse_time, words["latency"], "latency")
    return given


def _batch(batch: int | None) -> int:
    if batch is not None and batch < 1:
        raise InvalidInput(f"batch_per_accelerator: expected an integer >= 1, got {batch}")
    return batch or 0


def amount(parse: Callable[[str, str], float], value: Amount, word: str) -> float:
    """Return an amount in SI units; a number is one already."""
    return parse(value, word) if isinstance(value, str) else float(value)
