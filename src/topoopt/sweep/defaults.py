"""What a point has where the sweep file says nothing: the model's job file, the preset, the defaults."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from topoopt.cost import DEFAULT_PRICES
from topoopt.errors import InvalidInput
from topoopt.hardware import ClusterSpec
from topoopt.job import DEFAULT_CLUSTER, JobRequest, JobSettings, read_job
from topoopt.search import SearchOptions, preset, refuse_transformer
from topoopt.sweep.fabrics import OWN
from topoopt.sweep.point import OPTION_FIELDS, SETTINGS_FIELDS, Point

QUICK: Mapping[str, Any] = {"budget": 1000, "chains": 1, "rounds": 2}
"""Of a sweep's search; that of one plan tries four times as many strategies."""


def is_file(word: str) -> bool:
    """Return whether a model or a price list is a file and not a name."""
    return "/" in word or Path(word).suffix.lower() in (".yaml", ".yml", ".json", ".csv")


def request_of(model: str, folder: str | Path) -> JobRequest:
    """Return what a model's name, or the job file of that name in a folder, asks for."""
    return read_job(Path(folder) / model) if is_file(model) else JobRequest(model=model)


def defaults_of(model: str, named: str, folder: Path, place: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the fields of a point that the sweep file leaves open, and digests of the files used.

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
        digests = request.input_digests() if request.files else {}
        refuse_transformer(request)
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
        "inputs": "",
    }
    return {name: value for name, value in fields.items() if name in Point.__dataclass_fields__}, digests


def _of_fields(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}
