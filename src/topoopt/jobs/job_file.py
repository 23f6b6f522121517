"""A job from a file: what a ``job.yaml`` asks for, as a request."""

import shlex
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, create_model, model_validator

from topoopt.base.errors import InvalidInput, shown
from topoopt.jobs.request import TRAINING_FILES, WORK_FILES, JobRequest, names_file
from topoopt.jobs.settings import BucketText, JobSettings
from topoopt.schema.files import BandwidthText, Strict, TimeText, is_file, read_yaml, validated
from topoopt.schema.words import TrainingWords, described

SETTINGS = tuple(field.name for field in fields(JobSettings))
_Text = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class ClusterPart(Strict):
    """Fields of ClusterSpec, of which any may be left to the flags or the defaults."""

    servers: int | None = Field(default=None, ge=2)
    degree: int | None = Field(default=None, ge=1)
    link_bandwidth_bps: BandwidthText | None = Field(default=None, alias="link_bandwidth")
    accelerators_per_server: int | None = Field(default=None, ge=1)
    accelerator: str | None = None
    intra_server_bandwidth_bps: BandwidthText | None = Field(default=None, alias="intra_server_bandwidth")
    link_latency_s: TimeText | None = Field(default=None, alias="link_latency")
    links: Literal["duplex", "directed"] | None = None


class _TrainingNumbers(Strict):
    """Numbers of a training that have a least value."""

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
    candidates: int | None = Field(default=None, ge=1)


if TYPE_CHECKING:
    TrainingPart = _TrainingNumbers
else:
    TrainingPart = create_model(
        "TrainingPart",
        __base__=_TrainingNumbers,
        __doc__="How a transformer is trained, by the words of the vocabulary: what is not said is searched.",
        **{
            word.name: (word.kind | None, None)
            for word in described(TrainingWords)
            if word.name not in _TrainingNumbers.model_fields
        },
    )


class JobModel(Strict):
    """The keys of a job file; see ``examples/job.yaml``."""

    model: str | None = None
    variant: _Text | None = None
    hyperparameters: dict[str, Any] = Field(default={}, alias="set")
    config: str | None = None
    operators: str | None = None
    program: str | None = None
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
    bucket_bytes: BucketText | None = Field(default=None, alias="bucket")
    collective: str | None = None
    search: dict[str, Any] = Field(default={})

    @model_validator(mode="after")
    def _one_workload(self) -> "JobModel":
        named = [name for name in ("model", *WORK_FILES) if getattr(self, name) is not None]
        if len(named) != 1 and named not in (
            ["model", "profile"],
            ["operators", "profile"],
            ["program", "profile"],
        ):
            got = " and ".join(named) or "none"
            raise ValueError(
                f"give one of model, config, operators, profile (with or without model), program, traffic; got {got}"
            )
        return self


def job_from_mapping(mapping: Any, path: str | Path) -> JobRequest:
    """Return what the content of a job file asks for; files that it names lie beside it.

    Raises
    ------
    InvalidInput
        In one line: ``job.yaml: cluster.degree: expected an integer >= 1, got 0``.
    """
    place, folder = str(path), Path(path).parent
    files: tuple[str, ...] = (place,)
    cluster: dict[str, Any] = {}
    if isinstance(mapping, Mapping) and isinstance(mapping.get("cluster"), str):
        beside = str(folder / mapping["cluster"])
        if not is_file(beside):
            raise InvalidInput(f"{place}: cluster: {beside}: no such file")
        cluster, files = read_cluster_part(beside), (place, beside)
        mapping = {key: value for key, value in mapping.items() if key != "cluster"}
    document = validated(JobModel, mapping, place)
    if document.cluster:
        cluster = document.cluster.model_dump(exclude_none=True)
    before = f"{files[-1]}: {'cluster.' if document.cluster else ''}"
    keys = document.model_dump(exclude_none=True)
    settings = {name: keys[name] for name in SETTINGS if name in keys}
    _check_settings(settings, place)
    work_files: dict[str, Any] = {name: str(folder / keys[name]) for name in WORK_FILES if keys.get(name)}
    return JobRequest(
        **{name: keys[name] for name in ("model", "variant", "batch_per_accelerator") if name in keys},
        **work_files,
        training=_beside(keys.get("training", {}), folder),
        hyperparameters=document.hyperparameters,
        cluster=cluster,
        settings=settings,
        search=document.search,
        files=files,
        places={**_places(document, place), **cluster_places(cluster, before)},
    )


def read_cluster_part(path: str | Path) -> dict[str, Any]:
    """Return the fields of :class:`~topoopt.catalog.ClusterSpec` that a cluster file says."""
    return validated(ClusterPart, read_yaml(path), str(path)).model_dump(exclude_none=True)


def cluster_places(cluster: Mapping[str, Any], before: str) -> dict[str, str]:
    """Return where each field of a cluster stands in the file that says it; ``before`` is the file and the part."""
    return {field: f"{before}{_key(ClusterPart, field)}" for field in cluster}


def _places(document: JobModel, place: str) -> dict[str, str]:
    own = {name: _key(JobModel, name) for name in document.model_fields_set}
    training = document.training.model_fields_set if document.training else ()
    keys = {
        **own,
        **{name: f"training.{name}" for name in training},
        **{name: f"set.{name}" for name in document.hyperparameters},
    }
    return {word: f"{place}: {key}" for word, key in keys.items()}


def _key(part: type[Strict], field: str) -> str:
    """Return what a field is called in the file."""
    return part.model_fields[field].alias or field


def _beside(training: dict[str, Any], folder: Path) -> dict[str, Any]:
    files = {key: str(folder / training[key]) for key in TRAINING_FILES if names_file(training.get(key, ""))}
    return {**training, **files}


def _check_settings(settings: Mapping[str, Any], place: str) -> None:
    try:
        JobSettings(**settings)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def training_of_text(text: str, place: str) -> dict[str, Any]:
    """Return the words of a training that a text says, each with its value.

    Parameters
    ----------
    text
        Words of :class:`TrainingPart` with their values, blanks between them.
    place
        What stands in front of a message.

    Raises
    ------
    InvalidInput
        For an unknown word, one that stands twice, a value that it cannot have, or the name of a file: a table says
        everything itself.

    Examples
    --------
    >>> training_of_text("adapter_rank=16 global_batch=64", "training")
    {'global_batch': 64, 'adapter_rank': 16}
    """
    said: dict[str, str] = {}
    for part in _parts(text, place):
        word, sign, value = part.partition("=")
        if not word or not sign or not value:
            raise InvalidInput(f"{place}: expected words such as global_batch=64, got {shown(part)}")
        if word in said:
            raise InvalidInput(f"{place}: {word} stands twice; leave one out")
        said[word] = value
    for word in TRAINING_FILES:
        if names_file(said.get(word, "")):
            raise InvalidInput(f"{place}: {word}: expected a name, got the file {shown(said[word])}")
    return validated(TrainingPart, said, place).model_dump(exclude_none=True)


def text_of_training(training: Mapping[str, Any]) -> str:
    """Return words and values as one text, always in the same order; :func:`training_of_text` reads it.

    Examples
    --------
    >>> text_of_training({"global_batch": 64, "adapter_rank": 16, "graphs": True})
    'adapter_rank=16 global_batch=64 graphs=true'
    """
    return " ".join(f"{word}={_written(value)}" for word, value in sorted(training.items()))


def training_kinds() -> dict[str, Any]:
    """Return the type of each word of a training, with its bounds, as a model of a file takes it."""
    kinds = {}
    for name, field in TrainingPart.model_fields.items():
        kind = get_args(field.annotation)[0]
        kinds[name] = Annotated[(kind, *field.metadata)] if field.metadata else kind
    return kinds


def _parts(text: str, place: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"{place}: {error}, in {shown(text)}") from None


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else shlex.quote(str(value))
