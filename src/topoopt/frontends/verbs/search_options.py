"""What preset, job file and words say of the search together."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput, shown, unknown_name
from topoopt.base.provenance import digest
from topoopt.catalog import ClusterSpec
from topoopt.finder import STRIDES, cluster_of_wiring, is_wiring_file, named_wiring
from topoopt.jobs import JobRequest
from topoopt.schema.files import read_bytes
from topoopt.schema.words import FinderWords, SearchWords, pick
from topoopt.search import SearchOptions, is_transformer, preset
from topoopt.workloads import Traffic

_RENAMED_OPTIONS = {"search": "mode", "alpha": "alpha_per_ms"}


def search_options(request: JobRequest, words: Mapping[str, Any]) -> tuple[SearchOptions, JobRequest]:
    """Return the options, and the request with what the preset says about costs.

    A preset is the lowest layer, a job file's ``search`` goes above it, words above both.

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
    """Return the request with servers, ports, links, bandwidth and latency of a wiring file where it says none.

    Raises
    ------
    InvalidInput
        If the file is none.
    """
    cluster = request.cluster
    return JobRequest(
        cluster=cluster_of_wiring(options.wiring, cluster.get("degree"), cluster.get("links"))
    ).overlaid(request)


def wiring_digest(options: SearchOptions, cluster: ClusterSpec) -> dict[str, str]:
    """Return the SHA-256 of the wiring file, if there is one, by its name; and refuse a wiring that is for others.

    Raises
    ------
    Infeasible
        If the family that is asked for has none of so many servers and ports.
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
    """Refuse words about the search over operators where the job is a transformer.

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
    """Say of a mistake in an option that it stands in a file."""
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
