"""The keys of a sweep file: every one of them is an axis, and takes one value or a list."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.catalog import LINK_MODES, NETWORKS, OWN, PRECISIONS, ClusterSpec
from topoopt.collectives import COLLECTIVE_ALIASES, COLLECTIVE_NAMES
from topoopt.finder import DAMPING, DEGREE_SPLITS, STRIDE_RULES
from topoopt.jobs import (
    DEFAULT_CLUSTER,
    MEMORY_CHECKS,
    BucketText,
    JobRequest,
    JobSettings,
    MicrobatchesText,
    file_kind,
    training_kinds,
)
from topoopt.jobs import request_of as request_of_word
from topoopt.pricing import ACCOUNTINGS, DEFAULT_PRICES
from topoopt.routing import ROUTING
from topoopt.schema.files import BandwidthText, Strict, TimeText
from topoopt.schema.words import TrainingWords, described
from topoopt.search import MODES, PRESETS, SearchOptions, is_transformer, preset
from topoopt.simulation import SIMULATORS
from topoopt.studies.sweep.point import OPTION_FIELDS, SETTINGS_FIELDS, Point
from topoopt.workloads import COMPUTE_MODES

FILES = (".yaml", ".yml", ".json", ".csv", ".npy", ".pt2", ".onnx", ".log", ".et")
"""Suffixes of model files; others, and folders, are recognized by their content."""
QUICK: Mapping[str, Any] = {"budget": 1000, "chains": 1, "rounds": 2}
"""Search options of a sweep; a single plan tries four times as many strategies."""


@dataclass(frozen=True, eq=False)
class ModelDefaults:
    """A model of a sweep, and the defaults of its points.

    Attributes
    ----------
    fields : mapping
        Fields of Point. What a transformer has depends on its accelerators, and is not among them.
    digests : mapping
        Digests of the files that the model is made of, by name.
    """

    request: JobRequest
    transformer: bool
    fields: Mapping[str, Any]
    digests: Mapping[str, str]


T = TypeVar("T")
NO_VALUES = "an axis without values; give one or more, or leave the key out for its default"


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _distinct(values: list[T]) -> list[T]:
    if not values:
        raise ValueError(NO_VALUES)
    met: set[T] = set()
    for value in values:
        if value in met:
            raise ValueError(f"the value {value} stands twice; leave one out")
        met.add(value)
    return values


class _OneOrMany:
    """The published schema of an axis: the value itself, or a list of values."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> Any:
        items = handler(schema)["items"]
        return {"anyOf": [items, {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}]}


Axis = Annotated[list[T], BeforeValidator(_as_list), AfterValidator(_distinct), _OneOrMany()]


def one_of(kind: str, known: Iterable[str], aliases: Mapping[str, str] | None = None) -> AfterValidator:
    """Return the check of a name, which replaces an alias; a misspelled one is answered with the nearest."""
    names = tuple(known)

    def check(value: str) -> str:
        value = (aliases or {}).get(value, value)
        if value not in names:
            raise ValueError(str(unknown_name(kind, value, names)))
        return value

    return AfterValidator(check)


NameOrNumber = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) is int else value),
    WithJsonSchema({"type": ["string", "integer"]}),
]
"""A name that YAML may take for a number, such as that of the price list 2022."""
Bandwidth = Annotated[BandwidthText, WithJsonSchema({"type": "string", "examples": ["100 Gbps"]})]
Bucket = Annotated[BucketText, WithJsonSchema({"type": "string", "examples": ["auto", "25 MiB"]})]
Duration = Annotated[TimeText, WithJsonSchema({"type": "string", "examples": ["1 us"]})]
MODELS = "models of operators, transformers, or files beside this: jobs, a config.json, operators, traffic"
_Counted = Annotated[int, Field(ge=1)]
_FABRICS = (OWN, *NETWORKS.sizings())
_Natural = Annotated[int, Field(ge=0)]


class _OfEveryJob(Strict):
    """Values by key. In a sweep: the values to combine. Under ``exclude``: the combinations to exclude."""

    models: Axis[str] | None = Field(default=None, description=MODELS)
    servers: Axis[Annotated[int, Field(ge=2)]] | None = None
    degree: Axis[_Counted] | None = Field(default=None, description="training ports of a server; 4")
    bandwidth: Axis[Bandwidth] | None = Field(default=None, description="of one port; 100 Gbps")
    fabrics: Axis[Annotated[str, one_of("fabric", _FABRICS)]] | None = Field(
        default=None, description=f"{', '.join(_FABRICS)}; topoopt"
    )
    seeds: Axis[_Natural] | None = Field(default=None, description="of all chance; 0")
    batch_per_accelerator: Axis[_Counted] | None = Field(default=None, description="the model's own")

    accelerators_per_server: Axis[_Counted] | None = None
    accelerator: Axis[str] | None = None
    intra_server_bandwidth: Axis[Bandwidth] | None = None
    link_latency: Axis[Duration] | None = None
    links: Axis[Annotated[str, one_of("links", LINK_MODES)]] | None = None

    compute: Axis[Annotated[str, one_of("compute", COMPUTE_MODES)]] | None = None
    precision: Axis[Annotated[str, one_of("precision", PRECISIONS)]] | None = None
    embedding_bytes_factor: Axis[Annotated[int, Field(ge=1, le=2)]] | None = None
    memory_check: Axis[Annotated[str, one_of("memory check", MEMORY_CHECKS)]] | None = None
    optimizer: Axis[str] | None = None
    bucket: Axis[Bucket] | None = Field(default=None, description="auto, none or a size; auto")
    microbatches: Axis[MicrobatchesText] | None = Field(default=None, description="auto or a number; auto")

    preset: Axis[Annotated[str, one_of("preset", PRESETS)]] | None = None
    search: Axis[Annotated[str, one_of("search", MODES)]] | None = None
    degree_split: Axis[Annotated[str, one_of("degree split", DEGREE_SPLITS)]] | None = None
    strides: Axis[Annotated[str, one_of("strides", STRIDE_RULES)]] | None = None
    damping: Axis[Annotated[str, one_of("damping", DAMPING)]] | None = None
    routing: Axis[Annotated[str, one_of("routing", ROUTING)]] | None = None
    budget: Axis[_Natural] | None = Field(default=None, description="strategies to try for a plan; 1000")
    baseline_budget: Axis[_Natural] | None = Field(default=None, description="for each other fabric; 500")
    chains: Axis[_Counted] | None = Field(default=None, description="independent searches; 1")
    rounds: Axis[_Counted] | None = Field(default=None, description="most alternations; 2")
    alpha_per_ms: Axis[Annotated[float, Field(ge=0)]] | None = None
    balance: Axis[bool] | None = None

    simulator: Axis[Annotated[str, one_of("simulator", SIMULATORS)]] | None = Field(
        default=None, description=f"{', '.join(SIMULATORS)}; analytic"
    )
    collective: Axis[Annotated[str, one_of("collective", COLLECTIVE_NAMES, COLLECTIVE_ALIASES)]] | None = (
        Field(default=None, description=", ".join(COLLECTIVE_NAMES))
    )
    prices: Axis[NameOrNumber] | None = Field(
        default=None,
        description="2026, 2025, 2022, or a file beside this whose rows are laid over them; 2026",
    )
    accounting: Axis[Annotated[str, one_of("accounting", ACCOUNTINGS)]] | None = None

    @model_validator(mode="before")
    @classmethod
    def _no_empty_key(cls, mapping: Any) -> Any:
        for key, value in mapping.items() if isinstance(mapping, dict) else ():
            if value is None and key in KEYS:
                raise ValueError(f"{key}: {NO_VALUES}")
        return mapping

    def axes(self) -> dict[str, list[Any]]:
        """Return the values of every key that was given, by the field of Point that it means."""
        by_key = fields_of(self, *KEYS)
        return {FIELD_OF_KEY.get(key, key): values for key, values in by_key.items() if values is not None}


def _training_axes() -> dict[str, Any]:
    """Return a field for each training option of a transformer, with its help text."""
    texts = {word.name: word.text for word in described(TrainingWords)}
    axes: dict[str, Any] = {}
    for name, kind in training_kinds().items():
        axis: Any = Axis[kind]  # type: ignore[valid-type] # made while the program runs
        axes[name] = (axis | None, Field(default=None, description=f"of transformers: {texts[name]}"))
    return axes


if TYPE_CHECKING:
    BoxModel = _OfEveryJob
else:
    BoxModel = create_model("BoxModel", __base__=_OfEveryJob, __doc__=_OfEveryJob.__doc__, **_training_axes())


class SweepModel(BoxModel):
    """A sweep file; see ``examples/sweep.yaml``."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["servers"]}, {"required": ["accelerators"]}]}
    )

    models: Axis[str] = Field(description=MODELS)
    exclude: list[BoxModel] = Field(default=[], description="combinations to leave out, each a smaller sweep")

    @model_validator(mode="after")
    def _one_size(self) -> "SweepModel":
        sizes = [key for key in ("servers", "accelerators") if getattr(self, key) is not None]
        if not sizes:
            raise ValueError('missing key "servers": expected an integer >= 2; or give accelerators')
        if len(sizes) > 1:
            raise ValueError("accelerators: servers are given, too; leave one of them out")
        return self


KEYS = tuple(BoxModel.model_fields)
FIELD_OF_KEY = {
    "models": "model",
    "fabrics": "fabric",
    "seeds": "seed",
    "bandwidth": "bandwidth_bps",
    "intra_server_bandwidth": "intra_server_bandwidth_bps",
    "link_latency": "link_latency_s",
    "bucket": "bucket_bytes",
    "search": "mode",
}
KEY_OF_FIELD = {field: key for key, field in FIELD_OF_KEY.items()}


def is_model_file(word: str, folder: str | Path) -> bool:
    """Return whether a model is a file or folder and not a name, which may have its owner in front, with a slash."""
    return Path(word).suffix.lower() in FILES or file_kind(str(Path(folder) / word)) is not None


def request_of(model: str, folder: str | Path) -> JobRequest:
    """Return the request of a model's name, or of a file: a job, a ``config.json``, operators, traffic."""
    return (
        request_of_word(str(Path(folder) / model))
        if is_model_file(model, folder)
        else JobRequest(model=model)
    )


def defaults_of(model: str, named: str, folder: Path, place: str) -> ModelDefaults:
    """Return the defaults of a model's points.

    The defaults are lowest, the preset goes over them, the job file over both.

    Parameters
    ----------
    named : str
        Preset of the sweep file, empty where the job file decides.

    Raises
    ------
    InvalidInput
        For an unknown model, a job file that is wrong, or one that names a preset or option that is not known.
    """
    try:
        request = request_of(model, folder)
        digests = request.input_digests() if is_model_file(model, folder) else {}
        transformer = is_transformer(request)
        search = dict(request.search)
        chosen = str(search.pop("preset", "default"))
        rules = preset(named or chosen)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: models: {str(error).removeprefix('model: ')}") from None
    unknown = [key for key in search if key not in OPTION_FIELDS]
    if unknown:
        raise InvalidInput(f"{place}: models: {model}: search.{unknown[0]} is no option of a search")
    cluster = asdict(ClusterSpec(**{**DEFAULT_CLUSTER, **request.cluster}))
    options = {name: value for name, value in asdict(SearchOptions()).items() if name in OPTION_FIELDS}
    settings = {**asdict(JobSettings()), **_of_fields(rules, SETTINGS_FIELDS), **request.settings}
    fields = {
        "model": model,
        "fabric": OWN,
        "batch_per_accelerator": request.batch_per_accelerator,
        **cluster,
        "bandwidth_bps": cluster["link_bandwidth_bps"],
        **settings,
        "preset": named or chosen,
        **{**options, **QUICK, **_of_fields(rules, OPTION_FIELDS), **search},
        "simulator": "analytic",
        "prices": DEFAULT_PRICES,
        "accounting": "complete",
        "training": "",
        "inputs": "",
    }
    known = {name: value for name, value in fields.items() if name in Point.__dataclass_fields__}
    return ModelDefaults(request, transformer, known, digests)


def _of_fields(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
