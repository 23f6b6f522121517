"""The job of known traffic: a matrix of servers or of accelerators, what a run has sent, or what is described."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import format_time
from topoopt.jobs.job import Job, traffic_job
from topoopt.jobs.request import JobRequest, requested_cluster
from topoopt.workloads import Traffic, read_traffic_matrix, traffic_from_matrix
from topoopt.workloads.recorded import (
    IterationTimes,
    Recording,
    folded_matrix,
    read_recording,
    recorded_times,
    recorded_traffic,
)

MATRICES = (".csv", ".npy")
PER_SERVER = "accelerators_per_server"


def given_traffic_job(request: JobRequest) -> Job:
    """Return the job of known traffic.

    Rows of a matrix are servers. They are accelerators where ``servers`` times ``accelerators_per_server`` are as many,
    or only the latter is said. A recording is of accelerators, and may say itself which share a server.

    Raises
    ------
    InvalidInput
        If the traffic cannot be read, is not of the servers that are said, or a word is for operators.
    """
    what = request.traffic or "the traffic"
    _refuse_settings(request, what)
    traffic, origin, per_server, times = _traffic(request, what)
    _refuse_words(request, what)
    servers = request.cluster.get("servers", traffic.servers)
    if servers != traffic.servers:
        raise InvalidInput(f"servers: {what} is for {traffic.servers} servers, got {servers}")
    said = request.cluster if per_server is None else {**request.cluster, PER_SERVER: per_server}
    cluster = requested_cluster(replace(request, cluster=said), traffic.servers)
    name = Path(request.traffic).name or "traffic"
    if times is None:
        return traffic_job(name, traffic, cluster, origin)
    return traffic_job(name, traffic, cluster, origin, times.compute_s, times.hidden_share)


def is_recording(request: JobRequest) -> bool:
    """Return whether the traffic is what a run has sent, and no matrix."""
    suffix = Path(request.traffic).suffix.lower()
    return isinstance(request.described, Recording) or (bool(request.traffic) and suffix not in MATRICES)


_Given = tuple[Traffic, str, int | None, IterationTimes | None]
"""The traffic, what it was read from in words, the accelerators of a server and the times, where the file says them."""


def _traffic(request: JobRequest, what: str) -> _Given:
    if isinstance(request.described, Traffic):
        return request.described, "a traffic matrix", None, None
    if is_recording(request):
        recording = request.described if isinstance(request.described, Recording) else read_recording(what)
        return _recorded(recording, request)
    matrix = read_traffic_matrix(what)
    per_server = _folds(request.cluster, len(matrix))
    if per_server is None:
        return traffic_from_matrix(matrix, what), "a traffic matrix", None, None
    folded = traffic_from_matrix(folded_matrix(matrix, per_server, what), what)
    return folded, f"a matrix of {len(matrix)} accelerators, {per_server} on a server", None, None


def _folds(cluster: Mapping[str, Any], rows: int) -> int | None:
    """Return how many rows of a matrix are one server; None where each is one."""
    per_server, servers = cluster.get(PER_SERVER), cluster.get("servers")
    if per_server in (None, 1) or servers == rows:
        return None
    return int(per_server) if servers is None or servers * per_server == rows else None


def _recorded(recording: Recording, request: JobRequest) -> _Given:
    iterations = request.hyperparameters.get("iterations")
    traffic = recorded_traffic(recording, request.cluster.get(PER_SERVER), iterations)
    times = recorded_times(recording, request.cluster.get(PER_SERVER), iterations)
    of_one = [recording.servers.count(server) for server in set(recording.servers)]
    count = int(iterations or recording.iterations or 1)
    spread = f"one of {count} iterations" if count > 1 else "all of it as one iteration"
    silent = recording.accelerators - len(recording.recorded)
    others = f", {silent} of whom are taken to do as the others" if silent else ""
    origin = f"{recording.what} of {recording.accelerators} accelerators{others}; {spread}"
    if times is not None and times.exposed_s:
        origin += f", which took {format_time(times.compute_s + times.exposed_s)} there"
    said = PER_SERVER in request.cluster or not of_one
    return traffic, origin, None if said else max(of_one), times


def _refuse_settings(request: JobRequest, what: str) -> None:
    """Refuse hyper-parameters that reading would pass over."""
    allowed = ("iterations",) if is_recording(request) else ()
    for word in request.hyperparameters:
        if not allowed:
            raise InvalidInput(
                f"{what}: hyper-parameters (set) are for models of the zoo; change the file instead"
            )
        check_known(f"{what}: set", word, allowed)


def _refuse_words(request: JobRequest, what: str) -> None:
    """Refuse what is said of operators, once the traffic has been read: its own mistakes come first."""
    if request.profile:
        raise InvalidInput(f"{request.profile}: {what} holds bytes and no operators; leave it out")
    if request.variant:
        raise InvalidInput(f"{what}: variant is for models of the zoo; change the file instead")
    for word, value in (("batch_per_accelerator", request.batch_per_accelerator), *request.settings.items()):
        if value:
            raise InvalidInput(f"{word}: {what} holds bytes and no operators; leave it out")
