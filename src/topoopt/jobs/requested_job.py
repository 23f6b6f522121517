"""The job that a request means: a model of the zoo, operators, a profile of theirs, or a traffic matrix."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput, Note, check_known
from topoopt.base.units import format_time
from topoopt.catalog import find_accelerator
from topoopt.jobs.job import Job, make_job, traffic_job
from topoopt.jobs.request import DEFAULT_CLUSTER, JobRequest, requested_cluster, scale_up_bandwidth_bps
from topoopt.jobs.settings import JobSettings
from topoopt.schema.files import read_json
from topoopt.workloads import (
    DeviceProfile,
    OperatorGraph,
    Traffic,
    device_profile_from_mapping,
    is_device_profile,
    load_model,
    read_flexnet_profile,
    read_operators,
    read_program,
    read_traffic_matrix,
    resolve_variant,
    signature_of,
    traffic_from_matrix,
)
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
_Given = tuple[Traffic, str, int | None, IterationTimes | None]
"""The traffic, a description of its source, the accelerators per server and the times, where the file has them."""


def requested_job(request: JobRequest) -> Job:
    """Return the job that a request means; transformers are :func:`topoopt.search.job_of`'s.

    A number of accelerators is one of servers, each with as many as a cluster has by default or as is requested.
    Where neither is named, a model has that of its variant, a profile that which it was measured
    for, a traffic matrix that of its rows, and operators have 128.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    """
    if "accelerators" in request.training:
        request = _in_servers(request)
    if request.training:
        word = next(iter(request.training))
        what = request.model or request.operators or request.profile or request.traffic or "what is described"
        raise InvalidInput(
            f"{word}: is for transformers in pipeline stages, and {what} is none; leave it out"
        )
    settings = JobSettings(**request.settings)
    if request.traffic or isinstance(request.described, Traffic | Recording):
        return given_traffic_job(request)
    if request.profile and request.described:
        raise InvalidInput(
            f"{request.profile}: a profile goes with a model of the zoo or a file of operators"
        )
    if request.profile:
        content = read_json(request.profile)
        if is_device_profile(content):
            return _measured_job(request, device_profile_from_mapping(content, request.profile))
        return _profiled_job(request, settings)
    if request.operators or request.program or request.described:
        cluster = requested_cluster(request, DEFAULT_CLUSTER["servers"])
        return make_job(_own_graph(request), cluster, settings)
    graph, servers = _zoo_graph(request)
    return make_job(graph, requested_cluster(request, servers), settings)


def _in_servers(request: JobRequest) -> JobRequest:
    """Return the request with its number of accelerators as one of servers."""
    training = dict(request.training)
    accelerators = training.pop("accelerators")
    per_server = requested_cluster(request, 2).accelerators_per_server
    servers, rest = divmod(accelerators, per_server)
    if rest:
        raise InvalidInput(
            f"accelerators: {accelerators} do not fill servers of {per_server}; "
            f"give accelerators_per_server, or a multiple of {per_server}"
        )
    if request.cluster.get("servers", servers) != servers:
        raise InvalidInput(
            f"accelerators: {accelerators} are {servers} servers of {per_server}, and servers says "
            f"{request.cluster['servers']}; leave one out"
        )
    return replace(request, training=training, cluster={**request.cluster, "servers": servers})


def program_words(request: JobRequest) -> str:
    """Return a description of the request's program and of how it was counted."""
    return _program(request)[1]


def _program(request: JobRequest) -> tuple[OperatorGraph, str]:
    if request.variant:
        raise InvalidInput(f"{request.program}: variant is for models of the zoo; leave it out")
    return read_program(request.program, request.hyperparameters)


def _own_graph(request: JobRequest) -> OperatorGraph:
    graph, batch = request.described, request.batch_per_accelerator
    if graph is None and request.program:
        read, _ = _program(request)
        return replace(read, batch_per_accelerator=batch) if batch else read
    if graph is None:
        _refuse_model_words(request, request.operators)
        return read_operators(request.operators, batch_per_accelerator=batch or None)
    assert isinstance(graph, OperatorGraph), "a transformer is ranked by the search first"
    _refuse_model_words(request, graph.name)
    return replace(graph, batch_per_accelerator=batch) if batch else graph


def _zoo_graph(request: JobRequest) -> tuple[OperatorGraph, int]:
    variant = request.variant or None
    servers = request.cluster.get("servers")
    _, chosen = resolve_variant(request.model, variant=variant, servers=servers)
    changes = dict(request.hyperparameters)
    if request.batch_per_accelerator:
        changes["batch_per_accelerator"] = request.batch_per_accelerator
    return load_model(request.model, variant=variant, servers=servers, **changes), chosen.servers


def _profiled_job(request: JobRequest, settings: JobSettings) -> Job:
    if request.operators:
        raise InvalidInput(
            f"{request.profile}: a FlexNet profile is of a model of the zoo; it does not go with {request.operators}"
        )
    table, graph = read_flexnet_profile(request.profile)
    if request.model:
        named = replace(request, cluster={"servers": table.servers, **request.cluster})
        graph, _ = _zoo_graph(named)
    if graph is None:
        raise InvalidInput(
            f"{request.profile}: its operators are those of no model in the zoo; name the model that was measured"
        )
    if not request.model:
        _refuse_model_words(request, request.profile)
        if request.batch_per_accelerator:
            graph = replace(graph, batch_per_accelerator=request.batch_per_accelerator)
    return make_job(graph, requested_cluster(request, table.servers), settings, (table,))


def _measured_job(request: JobRequest, profile: DeviceProfile) -> Job:
    """Return the job with times of ``topoopt profile``; missing options are as measured."""
    _check_measured(request, profile)
    accelerator = {"accelerator": profile.device.accelerator} if profile.device.accelerator else {}
    measured = {"servers": profile.servers, "accelerators_per_server": profile.accelerators_per_server}
    below = JobRequest(cluster={**measured, **accelerator}, settings={"precision": profile.device.precision})
    request = below.overlaid(request)
    if request.model or profile.source == "zoo":
        zoo = JobRequest(model=profile.model, hyperparameters=profile.hyperparameters)
        graph, _ = _zoo_graph(request if request.model else zoo.overlaid(request))
    if request.operators or request.program:
        graph = _own_graph(request)
    elif not request.model and not request.batch_per_accelerator:
        graph = replace(graph, batch_per_accelerator=profile.batch_per_accelerator)
    signatures = set(map(signature_of, graph.operators))
    if not any(op.times for op in profile.operators if op.signature in signatures):
        raise InvalidInput(
            f"{request.profile}: holds times of {profile.model}, and of no operator of {graph.name}; measure that"
        )
    cluster = requested_cluster(request, profile.servers)
    return make_job(graph, cluster, JobSettings(**request.settings), (profile,))


def _check_measured(request: JobRequest, profile: DeviceProfile) -> None:
    """Refuse options that differ from the profile's device, precision or kind of model."""
    place, device, settings = request.profile, profile.device, request.settings
    if profile.source == "transformer":
        raise InvalidInput(
            f"{place}: holds operators of the transformer {profile.model}; name that, and this file as calibration=FILE"
        )
    if profile.source == "operators" and not (request.model or request.operators or request.program):
        raise InvalidInput(
            f"{place}: holds times of {profile.model}, a file of operators; name that file, and this one with "
            "profile_file=FILE"
        )
    precision, accelerator = settings.get("precision", device.precision), request.cluster.get("accelerator")
    if precision != device.precision:
        raise InvalidInput(
            f"{place}: was measured in {device.precision}, the job computes in {precision}; "
            f"give precision={device.precision}, or measure in {precision}"
        )
    if device.accelerator and accelerator and find_accelerator(accelerator).name != device.accelerator:
        raise InvalidInput(
            f"{place}: was measured on {device.accelerator}, the cluster has {find_accelerator(accelerator).name}; "
            f"give accelerator={device.accelerator.lower()}, or measure there"
        )
    if settings.get("compute") == "roofline":
        raise InvalidInput(f"{place}: compute=roofline takes no measured times; leave one of the two out")


def _refuse_model_words(request: JobRequest, place: str) -> None:
    for word, value in (("variant", request.variant), ("hyper-parameters (set)", request.hyperparameters)):
        if value:
            raise InvalidInput(f"{place}: {word} are for models of the zoo; change the file instead")


def given_traffic_job(request: JobRequest) -> Job:
    """Return the job of known traffic.

    Rows of a matrix are servers. They are accelerators where ``servers`` times ``accelerators_per_server`` are as many,
    or only the latter is given. A recording is of accelerators, and may itself contain which share a server.

    Raises
    ------
    InvalidInput
        If the traffic cannot be read, is for another number of servers, or an option is for operators.
    """
    what = request.traffic or "the traffic"
    allowed = ("iterations",) if is_recording(request) else ()
    for word in request.hyperparameters:
        if not allowed:
            raise InvalidInput(
                f"{what}: hyper-parameters (set) are for models of the zoo; change the file instead"
            )
        check_known(f"{what}: set", word, allowed)
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
    """Return whether the traffic is a recording, not a matrix."""
    suffix = Path(request.traffic).suffix.lower()
    return isinstance(request.described, Recording) or (bool(request.traffic) and suffix not in MATRICES)


def _traffic(request: JobRequest, what: str) -> _Given:
    if isinstance(request.described, Traffic):
        return request.described, "a traffic matrix", None, None
    if is_recording(request):
        recording = request.described
        if not isinstance(recording, Recording):
            recording = read_recording(what, scale_up_bandwidth_bps(request.cluster))
        iterations = request.hyperparameters.get("iterations")
        traffic = recorded_traffic(recording, request.cluster.get(PER_SERVER), iterations)
        times = recorded_times(recording, request.cluster.get(PER_SERVER), iterations)
        of_one = [recording.servers.count(server) for server in set(recording.servers)]
        count = int(iterations or recording.iterations or 1)
        spread = f"one of {count} iterations" if count > 1 else "all of it as one iteration"
        silent = recording.accelerators - len(recording.recorded)
        others = f", {silent} of which are taken to do as the others" if silent else ""
        origin = f"{recording.what} of {recording.accelerators} accelerators{others}; {spread}"
        if times is not None and times.exposed_s and recording.measured:
            origin += f", which took {format_time(times.compute_s + times.exposed_s)} there"
        said = PER_SERVER in request.cluster or not of_one
        return traffic, origin, None if said else max(of_one), times
    matrix = read_traffic_matrix(what)
    per_server = _folds(request.cluster, len(matrix))
    if per_server is None:
        if matrix.ndim == 2 and np.diagonal(matrix).any():
            warnings.warn(Note(f"{what}: the diagonal, of servers to themselves, is left out"), stacklevel=2)
        return traffic_from_matrix(matrix, what), "a traffic matrix", None, None
    folded = traffic_from_matrix(folded_matrix(matrix, per_server, what), what)
    return folded, f"a matrix of {len(matrix)} accelerators, {per_server} on a server", None, None


def _folds(cluster: Mapping[str, Any], rows: int) -> int | None:
    """Return the rows of a matrix per server; None where each row is one."""
    per_server, servers = cluster.get(PER_SERVER), cluster.get("servers")
    if per_server in (None, 1) or servers == rows:
        return None
    return int(per_server) if servers is None or servers * per_server == rows else None


def _refuse_words(request: JobRequest, what: str) -> None:
    """Refuse options about operators for known traffic, after reading it: its own errors come first."""
    if request.profile:
        raise InvalidInput(f"{request.profile}: {what} holds bytes and no operators; leave it out")
    if request.variant:
        raise InvalidInput(f"{what}: variant is for models of the zoo; change the file instead")
    for word, value in (("batch_per_accelerator", request.batch_per_accelerator), *request.settings.items()):
        if value:
            raise InvalidInput(f"{word}: {what} holds bytes and no operators; leave it out")
