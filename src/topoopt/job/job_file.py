"""A job from a file: what a ``job.yaml`` asks for, as a request."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from topoopt.errors import InvalidInput
from topoopt.files import BandwidthText, BytesText, Strict, TimeText, read_yaml, validated
from topoopt.job.request import TRAINING_FILES, JobRequest, names_file
from topoopt.job.settings import JobSettings

SETTINGS = ("compute", "precision", "embedding_bytes_factor", "memory_check", "optimizer")
"""Keys of a job file that are fields of :class:`~topoopt.job.JobSettings`; ``bucket`` is its ``bucket_bytes``."""

_CLUSTER_FIELDS = {
    "link_bandwidth": "link_bandwidth_bps",
    "intra_server_bandwidth": "intra_server_bandwidth_bps",
    "link_latency": "link_latency_s",
}
_Text = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class ClusterPart(Strict):
    """Keys of a cluster of which any may be left to the flags or the defaults."""

    servers: int | None = Field(default=None, ge=2)
    degree: int | None = Field(default=None, ge=1)
    link_bandwidth: BandwidthText | None = None
    accelerators_per_server: int | None = Field(default=None, ge=1)
    accelerator: str | None = None
    intra_server_bandwidth: BandwidthText | None = None
    link_latency: TimeText | None = None
    links: Literal["duplex", "directed"] | None = None


class TrainingPart(Strict):
    """How a transformer is trained: what is not said is searched."""

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


class JobModel(Strict):
    """The keys of a job file; see ``examples/job.yaml``."""

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
    search: dict[str, Any] = Field(default={})

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
    document = validated(JobModel, mapping, place)
    if document.cluster:
        cluster = _cluster_fields(document.cluster)
    before = f"{files[-1]}: {'cluster.' if document.cluster else ''}"
    settings = {name: getattr(document, name) for name in SETTINGS if getattr(document, name) is not None}
    if document.bucket is not None:
        settings["bucket_bytes"] = round(document.bucket)
    _check_settings(settings, place)
    return JobRequest(
        model=document.model or "",
        variant=document.variant or "",
        config=str(folder / document.config) if document.config else "",
        training=_training_fields(document.training, folder),
        hyperparameters=document.hyperparameters,
        operators=str(folder / document.operators) if document.operators else "",
        profile=str(folder / document.profile) if document.profile else "",
        traffic=str(folder / document.traffic) if document.traffic else "",
        batch_per_accelerator=document.batch_per_accelerator or 0,
        cluster=cluster,
        settings=settings,
        search=document.search,
        files=files,
        places={**_places(document, place), **cluster_places(cluster, before)},
    )


def read_cluster_part(path: str | Path) -> dict[str, Any]:
    """Return the fields of :class:`~topoopt.hardware.ClusterSpec` that a cluster file says."""
    return _cluster_fields(validated(ClusterPart, read_yaml(path), str(path)))


def cluster_places(cluster: Mapping[str, Any], before: str) -> dict[str, str]:
    """Return where each field of a cluster stands in the file that says it; ``before`` is the file and the part."""
    keys = {field: key for key, field in _CLUSTER_FIELDS.items()}
    return {field: before + keys.get(field, field) for field in cluster}


def _places(document: JobModel, place: str) -> dict[str, str]:
    own = {"bucket_bytes" if name == "bucket" else name: name for name in document.model_fields_set}
    training = {
        name: f"training.{name}" for name in (document.training.model_fields_set if document.training else ())
    }
    changes = {name: f"set.{name}" for name in document.hyperparameters}
    return {word: f"{place}: {key}" for word, key in {**own, **training, **changes}.items()}


def _cluster_fields(part: ClusterPart) -> dict[str, Any]:
    keys = part.model_dump(exclude_none=True)
    return {_CLUSTER_FIELDS.get(name, name): value for name, value in keys.items()}


def _training_fields(part: TrainingPart | None, folder: Path) -> dict[str, Any]:
    keys = {} if part is None else part.model_dump(exclude_none=True)
    for key in TRAINING_FILES:
        if names_file(keys.get(key, "")):
            keys[key] = str(folder / keys[key])
    return keys


def _check_settings(settings: Mapping[str, Any], place: str) -> None:
    try:
        JobSettings(**settings)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
