"""A job from a file: what a ``job.yaml``, or the flags beside it, asks for, and the job that it means.

Only what was said is in a :class:`JobRequest`. Several of them may be laid over each other (a file, then flags)
before :func:`requested_job` fills in the defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from topoopt.errors import InvalidInput
from topoopt.files import BandwidthText, BytesText, TimeText, read_bytes, read_yaml, validated
from topoopt.hardware import ClusterSpec, find_accelerator
from topoopt.job import Job, JobSettings, make_job, traffic_job
from topoopt.provenance import digest
from topoopt.traffic import traffic_from_matrix
from topoopt.workload import (
    DeviceProfile,
    OperatorGraph,
    device_profile_from_mapping,
    is_device_profile,
    load_model,
    read_flexnet_profile,
    read_json,
    read_operators,
    read_traffic_matrix,
    resolve_variant,
    signature_of,
)

DEFAULT_CLUSTER: Mapping[str, Any] = {"servers": 128, "degree": 4, "link_bandwidth_bps": 100e9}
"""The cluster of the TopoOpt authors' dedicated jobs."""

SETTINGS = ("compute", "precision", "embedding_bytes_factor", "memory_check", "optimizer")
"""Keys of a job file that are fields of :class:`~topoopt.job.JobSettings`; ``bucket`` is its ``bucket_bytes``."""

_CLUSTER_FIELDS = {
    "link_bandwidth": "link_bandwidth_bps",
    "intra_server_bandwidth": "intra_server_bandwidth_bps",
    "link_latency": "link_latency_s",
}
_Text = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class ClusterPart(BaseModel):
    """Keys of a cluster of which any may be left to the flags or the defaults."""

    model_config = ConfigDict(extra="forbid")

    servers: int | None = Field(default=None, ge=2)
    degree: int | None = Field(default=None, ge=1)
    link_bandwidth: BandwidthText | None = None
    accelerators_per_server: int | None = Field(default=None, ge=1)
    accelerator: str | None = None
    intra_server_bandwidth: BandwidthText | None = None
    link_latency: TimeText | None = None
    links: Literal["duplex", "directed"] | None = None


class TrainingPart(BaseModel):
    """How a transformer is trained: what is not said is searched."""

    model_config = ConfigDict(extra="forbid")

    accelerators: int | None = Field(default=None, ge=2)
    global_batch: int | None = Field(default=None, ge=1)
    seq: int | None = Field(default=None, ge=1)
    tp: int | None = Field(default=None, ge=1)
    pp: int | None = Field(default=None, ge=1)
    dp: int | None = Field(default=None, ge=1)
    cp: int | None = Field(default=None, ge=1)
    ep: int | None = Field(default=None, ge=1)
    etp: int | None = Field(default=None, ge=1)
    vpp: int | None = Field(default=None, ge=1)
    micro_batch: int | None = Field(default=None, ge=1)
    zero: int | None = Field(default=None, ge=0, le=3)
    recompute: str | None = None
    calibration: str | None = None
    loads: str | None = None
    candidates: int | None = Field(default=None, ge=1)


class JobModel(BaseModel):
    """The keys of a job file; see ``examples/job.yaml``."""

    model_config = ConfigDict(extra="forbid")

    model: str | None = None
    variant: _Text | None = None
    hyperparameters: dict[str, Any] = Field(default={}, alias="set")
    config: str | None = None
    operators: str | None = None
    profile: str | None = None
    traffic: str | None = None
    training: TrainingPart | None = None
    batch_per_accelerator: int | None = Field(default=None, ge=1)
    cluster: ClusterPart | None = None
    compute: str | None = None
    precision: str | None = None
    embedding_bytes_factor: int | None = None
    memory_check: str | None = None
    optimizer: str | None = None
    bucket: BytesText | None = None
    search: dict[str, Any] = {}

    @model_validator(mode="after")
    def _one_workload(self) -> "JobModel":
        files = ("config", "operators", "profile", "traffic")
        given = [name for name in files if getattr(self, name) is not None]
        if self.model is not None and given != ["profile"]:
            given.insert(0, "model")
        if given == ["operators", "profile"]:
            given = ["operators"]
        if len(given) != 1:
            got = " and ".join(given) or "none"
            raise ValueError(
                f"give one of model, config, operators, profile (with or without model), traffic; got {got}"
            )
        return self


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What was asked for; empty where nothing was said.

    Attributes
    ----------
    model, variant, config, operators, profile, traffic : str
        A model's name, or the path of a file; ``config`` is a transformer's ``config.json``.
    training : mapping
        Fields of :class:`TrainingPart`, for transformers.
    hyperparameters : mapping
        Changes to the model, named as in its parameter class.
    batch_per_accelerator : int
        0 for the model's own.
    cluster, settings : mapping
        Fields of :class:`~topoopt.hardware.ClusterSpec` and of :class:`~topoopt.job.JobSettings`.
    search : mapping
        Options of the search; the search room knows which there are.
    files : tuple of str
        The files read so far.
    """

    model: str = ""
    variant: str = ""
    config: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    operators: str = ""
    profile: str = ""
    traffic: str = ""
    batch_per_accelerator: int = 0
    cluster: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()

    def overlaid(self, above: "JobRequest") -> "JobRequest":
        """Return this request with everything replaced that ``above`` says."""
        said: dict[str, Any] = {name: getattr(above, name) or getattr(self, name) for name in _PLAIN}
        merged: dict[str, Any] = {name: {**getattr(self, name), **getattr(above, name)} for name in _MERGED}
        return JobRequest(**said, **merged, files=self.files + above.files)

    def input_digests(self) -> dict[str, str]:
        """Return the SHA-256 of every file that the job is made of, by file name."""
        named = (str(self.training.get(key, "")) for key in _FILES)
        own = (text for text in named if _is_file(text))
        paths = (*self.files, *filter(None, (self.config, self.operators, self.profile, self.traffic, *own)))
        return {Path(path).name: digest(read_bytes(path)) for path in paths}


_FILES = ("calibration", "loads")
"""What of the training may be the name of a file."""

_PLAIN = ("model", "variant", "config", "operators", "profile", "traffic", "batch_per_accelerator")
_MERGED = ("training", "hyperparameters", "cluster", "settings", "search")


def read_job(path: str | Path) -> JobRequest:
    """Return what a job file asks for; files that it names lie beside it.

    Raises
    ------
    InvalidInput
        In one line: ``job.yaml: cluster.degree: expected an integer >= 1, got 0``.
    """
    return job_from_mapping(read_yaml(path), path)


def job_from_mapping(mapping: Any, path: str | Path) -> JobRequest:
    """Return what the content of a job file asks for; see :func:`read_job`."""
    place, folder = str(path), Path(path).parent
    files: tuple[str, ...] = (place,)
    cluster: dict[str, Any] = {}
    if isinstance(mapping, Mapping) and isinstance(mapping.get("cluster"), str):
        beside = str(folder / mapping["cluster"])
        cluster, files = read_cluster_part(beside), (place, beside)
        mapping = {key: value for key, value in mapping.items() if key != "cluster"}
    said = validated(JobModel, mapping, place)
    settings = {name: getattr(said, name) for name in SETTINGS if getattr(said, name) is not None}
    if said.bucket is not None:
        settings["bucket_bytes"] = round(said.bucket)
    _check_settings(settings, place)
    return JobRequest(
        model=said.model or "",
        variant=said.variant or "",
        config=str(folder / said.config) if said.config else "",
        training=_training_fields(said.training, folder),
        hyperparameters=said.hyperparameters,
        operators=str(folder / said.operators) if said.operators else "",
        profile=str(folder / said.profile) if said.profile else "",
        traffic=str(folder / said.traffic) if said.traffic else "",
        batch_per_accelerator=said.batch_per_accelerator or 0,
        cluster=_cluster_fields(said.cluster) if said.cluster else cluster,
        settings=settings,
        search=said.search,
        files=files,
    )


def read_cluster_part(path: str | Path) -> dict[str, Any]:
    """Return the fields of :class:`~topoopt.hardware.ClusterSpec` that a cluster file says."""
    return _cluster_fields(validated(ClusterPart, read_yaml(path), str(path)))


def requested_cluster(request: JobRequest, servers: int) -> ClusterSpec:
    """Return the cluster asked for, the rest from :data:`DEFAULT_CLUSTER`; ``servers`` where none were named."""
    return ClusterSpec(**{**DEFAULT_CLUSTER, "servers": servers, **request.cluster})


def requested_job(request: JobRequest) -> Job:
    """Return the job that a request means; transformers are :func:`topoopt.search.requested_training`'s.

    Where it names no number of servers, a model has that of its variant, a profile that which it was measured
    for, a traffic matrix that of its rows, and operators have 128.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    """
    if request.training:
        word = next(iter(request.training)).replace("_", "-")
        what = request.model or request.operators or request.profile or request.traffic
        remedy = "say --servers and --accelerators-per-server" if word == "accelerators" else "leave it out"
        raise InvalidInput(f"--{word}: is for transformers in pipeline stages, and {what} is none; {remedy}")
    settings = JobSettings(**request.settings)
    if request.traffic:
        return _traffic_job(request)
    if request.profile:
        content = read_json(request.profile)
        if is_device_profile(content):
            return _measured_job(request, device_profile_from_mapping(content, request.profile))
        return _profiled_job(request, settings)
    if request.operators:
        _refuse_model_words(request, request.operators)
        graph = read_operators(request.operators, batch_per_accelerator=request.batch_per_accelerator or None)
        return make_job(graph, requested_cluster(request, DEFAULT_CLUSTER["servers"]), settings)
    graph, servers = _zoo_graph(request)
    return make_job(graph, requested_cluster(request, servers), settings)


def _traffic_job(request: JobRequest) -> Job:
    if request.profile:
        raise InvalidInput(f"{request.profile}: {request.traffic} holds bytes and no operators; leave it out")
    traffic = traffic_from_matrix(read_traffic_matrix(request.traffic), request.traffic)
    _refuse_model_words(request, request.traffic)
    for word, said in (("batch_per_accelerator", request.batch_per_accelerator), *request.settings.items()):
        if said:
            raise InvalidInput(f"{word}: {request.traffic} holds bytes and no operators; leave it out")
    wanted = request.cluster.get("servers", traffic.servers)
    if wanted != traffic.servers:
        raise InvalidInput(f"servers: {request.traffic} is for {traffic.servers} servers, got {wanted}")
    return traffic_job(Path(request.traffic).name, traffic, requested_cluster(request, traffic.servers))


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
    cluster = {"servers": profile.servers, "accelerators_per_server": profile.accelerators_per_server}
    below = JobRequest(cluster={**cluster, **accelerator}, settings={"precision": profile.device.precision})
    request = below.overlaid(request)
    if request.model or profile.source == "zoo":
        zoo = JobRequest(model=profile.model, hyperparameters=profile.hyperparameters)
        graph, _ = _zoo_graph(request if request.model else zoo.overlaid(request))
    if request.operators:
        _refuse_model_words(request, request.operators)
        graph = read_operators(request.operators, batch_per_accelerator=request.batch_per_accelerator or None)
    elif not request.model and not request.batch_per_accelerator:
        graph = replace(graph, batch_per_accelerator=profile.batch_per_accelerator)
    if not any(
        op.times for op in profile.operators if op.signature in {signature_of(o) for o in graph.operators}
    ):
        raise InvalidInput(
            f"{request.profile}: holds times of {profile.model}, and of no operator of {graph.name}; measure that"
        )
    cluster_asked = requested_cluster(request, profile.servers)
    return make_job(graph, cluster_asked, JobSettings(**request.settings), (profile,))


def _check_measured(request: JobRequest, profile: DeviceProfile) -> None:
    """Refuse what does not go with a profile of another device, precision or kind of model."""
    place, device, said = request.profile, profile.device, request.settings
    if profile.source == "transformer":
        raise InvalidInput(
            f"{place}: holds operators of the transformer {profile.model}; name that, and this file with --calibration"
        )
    if profile.source == "operators" and not (request.model or request.operators):
        raise InvalidInput(
            f"{place}: holds times of {profile.model}, a file of operators; name that file, and this one with "
            "--profile-file"
        )
    precision, asked = said.get("precision", device.precision), request.cluster.get("accelerator")
    if precision != device.precision:
        raise InvalidInput(
            f"{place}: was measured in {device.precision}, the job computes in {precision}; "
            f"give --precision {device.precision}, or measure in {precision}"
        )
    if device.accelerator and asked and find_accelerator(asked).name != device.accelerator:
        raise InvalidInput(
            f"{place}: was measured on {device.accelerator}, the cluster has {find_accelerator(asked).name}; "
            f"give --accelerator {device.accelerator.lower()}, or measure there"
        )
    if said.get("compute") == "roofline":
        raise InvalidInput(f"{place}: --compute roofline takes no measured times; leave one of the two out")


def _refuse_model_words(request: JobRequest, place: str) -> None:
    for word, said in (("variant", request.variant), ("hyper-parameters (set)", request.hyperparameters)):
        if said:
            raise InvalidInput(f"{place}: {word} are for models of the zoo; change the file instead")


def _cluster_fields(part: ClusterPart) -> dict[str, Any]:
    said = part.model_dump(exclude_none=True)
    return {_CLUSTER_FIELDS.get(name, name): value for name, value in said.items()}


def _training_fields(part: TrainingPart | None, folder: Path) -> dict[str, Any]:
    said = {} if part is None else part.model_dump(exclude_none=True)
    for key in _FILES:
        if _is_file(said.get(key, "")):
            said[key] = str(folder / said[key])
    return said


def _is_file(text: str) -> bool:
    """Return whether a word names a file; ``zipf:1.2`` does not."""
    return bool(Path(text).suffix) and ":" not in text


def _check_settings(settings: Mapping[str, Any], place: str) -> None:
    try:
        JobSettings(**settings)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
