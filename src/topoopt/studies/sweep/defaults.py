"""What a point has where the sweep file says nothing: the model's job file, the preset, the defaults."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.jobs import DEFAULT_CLUSTER, JobRequest, JobSettings, file_kind
from topoopt.jobs import request_of as request_of_word
from topoopt.pricing import DEFAULT_PRICES
from topoopt.search import SearchOptions, is_transformer, preset
from topoopt.studies.sweep.fabrics import OWN
from topoopt.studies.sweep.point import OPTION_FIELDS, SETTINGS_FIELDS, Point

FILES = (".yaml", ".yml", ".json", ".csv", ".npy", ".pt2", ".onnx", ".log", ".et")
"""Endings of files that a model may be; others, and folders, are known by what is in them."""

QUICK: Mapping[str, Any] = {"budget": 1000, "chains": 1, "rounds": 2}
"""Of a sweep's search; that of one plan tries four times as many strategies."""


def is_model_file(word: str, folder: str | Path) -> bool:
    """Return whether a model is a file or folder and not a name, which may have its owner in front, with a slash."""
    return Path(word).suffix.lower() in FILES or file_kind(str(Path(folder) / word)) is not None


def request_of(model: str, folder: str | Path) -> JobRequest:
    """Return what a model's name, or a file in a folder, asks for: a job, a ``config.json``, operators, traffic."""
    return (
        request_of_word(str(Path(folder) / model))
        if is_model_file(model, folder)
        else JobRequest(model=model)
    )


@dataclass(frozen=True, eq=False)
class ModelDefaults:
    """A model of a sweep, and what its points have where the sweep file says nothing.

    Attributes
    ----------
    fields : mapping
        Fields of Point. What a transformer has depends on its accelerators, and is not among them.
    digests : mapping
        Of the files that the model is made of, by name.
    """

    request: JobRequest
    transformer: bool
    fields: Mapping[str, Any]
    digests: Mapping[str, str]


def defaults_of(model: str, named: str, folder: Path, place: str) -> ModelDefaults:
    """Return what the points of a model have where the sweep file says nothing.

    The defaults are lowest, the preset goes over them, the job file over both.

    Parameters
    ----------
    named : str
        The preset that the sweep file asks for, empty where it leaves that to the job file.

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
