"""The job that a request means: a model of the zoo, operators, a profile of theirs, or a traffic matrix."""

from dataclasses import replace

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs.given_traffic import given_traffic_job
from topoopt.jobs.job import Job, make_job
from topoopt.jobs.request import DEFAULT_CLUSTER, JobRequest, requested_cluster
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
    resolve_variant,
    signature_of,
)
from topoopt.workloads.recorded import Recording


def requested_job(request: JobRequest) -> Job:
    """Return the job that a request means; transformers are :func:`topoopt.search.job_of`'s.

    Where it names no number of servers, a model has that of its variant, a profile that which it was measured
    for, a traffic matrix that of its rows, and operators have 128.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    """
    if request.training:
        word = next(iter(request.training))
        what = request.model or request.operators or request.profile or request.traffic or "what is described"
        remedy = "give servers and accelerators_per_server" if word == "accelerators" else "leave it out"
        raise InvalidInput(f"{word}: is for transformers in pipeline stages, and {what} is none; {remedy}")
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


def program_words(request: JobRequest) -> str:
    """Return what the program that a request names is, and how it was counted, in words."""
    return _program(request)[1]


def _program(request: JobRequest) -> tuple[OperatorGraph, str]:
    if request.variant:
        raise InvalidInput(f"{request.program}: variant is for models of the zoo; leave it out")
    return read_program(request.program, request.hyperparameters)


def _own_graph(request: JobRequest) -> OperatorGraph:
    """Return the operators of a file, or those made in Python."""
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
    """Return the job with times of ``topoopt profile``; what is not said is as it was measured."""
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
    """Refuse what does not go with a profile of another device, precision or kind of model."""
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
