"""The request that the words of a job come to.

What is not given is left to the file that is asked about, to the preset and to the defaults.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.units import parse_bandwidth, parse_time
from topoopt.catalog import ClusterSpec
from topoopt.jobs import Described, JobRequest, cluster_places, parse_bucket, read_cluster_part, request_of
from topoopt.schema.words import TrainingWords, amount, defaults, pick
from topoopt.transformers import COUNTS_FROM_ZERO

NamedSource = str | os.PathLike[str] | JobRequest
"""A model's name, the path of a file, or a request that is made already."""

Source = NamedSource | Described
"""The same, or a model that is described in Python."""


_SETTINGS = ("compute", "precision", "optimizer", "memory_check", "embedding_factor")
_RENAMED = {"embedding_factor": "embedding_bytes_factor"}
_PLAIN_CLUSTER = ("servers", "degree", "accelerators_per_server", "accelerator", "links")
_LEAST = {"accelerators": 2, "zero": 0, **dict.fromkeys(COUNTS_FROM_ZERO, 0)}
"""Smallest value of a number of a training; 1 for all others."""


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
        _source_request(source)
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
    """Return the words about a training that say something: the command line gives switches that are off, too."""
    usual = defaults(TrainingWords)
    return {name: value for name, value in pick(words, TrainingWords).items() if value != usual.get(name)}


def _settings(words: Mapping[str, Any]) -> dict[str, Any]:
    settings = {_RENAMED.get(name, name): value for name, value in pick(words, _SETTINGS).items()}
    if "bucket" in words:
        settings["bucket_bytes"] = parse_bucket(words["bucket"], "bucket")
    return settings


def _cluster(words: Mapping[str, Any]) -> dict[str, Any]:
    cluster = pick(words, _PLAIN_CLUSTER)
    for word, target in (
        ("bandwidth", "link_bandwidth_bps"),
        ("intra_server_bandwidth", "intra_server_bandwidth_bps"),
    ):
        if word in words:
            cluster[target] = amount(parse_bandwidth, words[word], word)
    if "latency" in words:
        cluster["link_latency_s"] = amount(parse_time, words["latency"], "latency")
    return cluster


def _batch(batch: int | None) -> int:
    if batch is not None and batch < 1:
        raise InvalidInput(f"batch_per_accelerator: expected an integer >= 1, got {batch}")
    return batch or 0
