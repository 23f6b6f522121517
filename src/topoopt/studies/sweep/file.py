"""A sweep file and the points that it means."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final

from topoopt.base.answers import digest
from topoopt.base.errors import InvalidInput
from topoopt.jobs import JobRequest, JobSettings, text_of_training, training_kinds
from topoopt.pricing import find_prices, price_files
from topoopt.schema.files import parse_yaml, read_bytes, read_text, validated
from topoopt.search import TrainingRequest, training_request
from topoopt.studies.sweep.axes import KEY_OF_FIELD, ModelDefaults, SweepModel, defaults_of
from topoopt.studies.sweep.point import SETTINGS_FIELDS, Point

TRAINING: Final = tuple(training_kinds())
"""Words of a training, which only transformers have; but for ``accelerators``, which are servers of all others."""
OF_OPERATORS: Final = (
    *(name for name in SETTINGS_FIELDS if name != "precision"),
    *("mode", "budget", "baseline_budget", "chains", "rounds", "alpha_per_ms"),
)
"""Fields of Point that transformers do not have: costs of operators, and the search over these."""
CLUSTER: Final = {
    "bandwidth_bps": "link_bandwidth_bps",
    **{
        name: name
        for name in (
            *("servers", "degree", "accelerators_per_server", "accelerator"),
            *("intra_server_bandwidth_bps", "link_latency_s", "links"),
        )
    },
}
"""Fields of Point, and the corresponding ones of ClusterSpec."""
MOST_POINTS = 100_000
"""More count as a mistake: at a tenth of a second each they would take three hours."""
Box = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Sweep:
    """Content of a sweep file.

    Attributes
    ----------
    folder : str
        Folder of the sweep's job files and price lists.
    axes : mapping
        The values of every field of Point that the file names, in the file's order.
    points : tuple of Point
        All of them different.
    """

    name: str
    text: str
    folder: str
    axes: Mapping[str, tuple[Any, ...]]
    points: tuple[Point, ...]


def read_sweep(path: str | Path) -> Sweep:
    """Return the points of a sweep file: every combination of its values, but for those excluded.

    Transformers lack the options of operators, and vice versa: an axis that a model lacks gives one point for it.

    Raises
    ------
    InvalidInput
        In one line, with the place, for whatever is misspelled, empty, double, or cannot go together.
    """
    text = read_text(path)
    return make_sweep(parse_yaml(text, str(path)), Path(path).resolve().parent, str(path), text)


def make_sweep(document: object, folder: str | Path, place: str, text: str) -> Sweep:
    """Return the points of a sweep file's content; see :func:`read_sweep`.

    Parameters
    ----------
    folder
        Folder of the sweep's job files and price lists.
    place
        Prefix of messages, and name of the sweep.
    text
        Text that identifies the sweep in a results file.
    """
    model = validated(SweepModel, document, place)
    axes = model.axes()
    count = prod(len(values) for values in axes.values())
    if count > MOST_POINTS:
        raise InvalidInput(
            f"{place}: {count:,} points, allowed are {MOST_POINTS:,}; take values out, or make several sweeps"
        )
    points = tuple(_points(axes, [box.axes() for box in model.exclude], Path(folder), place))
    named = {name: tuple(values) for name, values in axes.items()}
    return Sweep(Path(place).name, text, str(folder), named, points)


def _points(axes: Box, excluded: list[Box], folder: Path, place: str) -> Iterator[Point]:
    prices = {name: _price_digest(name, folder, place) for name in axes.get("prices", ())}
    combinations = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    for index, box in enumerate(excluded):
        if not box:
            raise InvalidInput(f"{place}: exclude[{index}]: names nothing; give the values to leave out")
        for field in box:
            if field not in combinations[0]:
                key = KEY_OF_FIELD.get(field, field)
                raise InvalidInput(f"{place}: exclude[{index}]: {key} is no key of this sweep; add it above")
        if not any(_inside(values, box) for values in combinations):
            raise InvalidInput(f"{place}: exclude[{index}]: no point of the sweep has these values")
    kept = [values for values in combinations if not any(_inside(values, box) for box in excluded)]
    if not kept:
        raise InvalidInput(f"{place}: exclude: nothing is left of the sweep; exclude less")
    known: dict[tuple[str, str], ModelDefaults] = {}
    checked: set[tuple[object, ...]] = set()
    made: set[Point] = set()
    for values in kept:
        model = values["model"], values.get("preset", "")
        if model not in known:
            known[model] = defaults_of(*model, folder, place)
        used = {**known[model].digests, **prices.get(values.get("prices", ""), {})}
        inputs = ",".join(f"{name}={value}" for name, value in sorted(used.items()))
        point = made_point(known[model], {**values, "inputs": inputs}, place)
        _check(point, values, checked, place)
        if point not in made:  # what a model does not have makes no other point of it
            made.add(point)
            yield point
    refuse_unused(axes, known.values(), place)


def _inside(values: Mapping[str, Any], box: Box) -> bool:
    return all(values[field] in allowed for field, allowed in box.items())


def _check(point: Point, values: Mapping[str, Any], checked: set[tuple[object, ...]], place: str) -> None:
    """Refuse impossible combinations before anything is computed."""
    for part, make in (("cluster", point.cluster), ("settings", point.settings), ("options", point.options)):
        key = (
            part,
            *(value for name, value in values.items() if name not in ("model", "fabric")),
            point.accelerator,
        )
        if key in checked:
            continue
        checked.add(key)
        try:
            make()
        except InvalidInput as error:
            remedy = "take the value out"
            if str(error).startswith("degree"):  # right for other numbers of servers, perhaps
                box = {"servers": point.servers, "degree": point.degree}
                remedy += f", or leave these points out with exclude: [{_flow(box)}]"
            raise InvalidInput(f"{place}: {error}; {remedy}") from None


def _flow(box: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key}: {value}" for key, value in box.items()) + "}"


def _price_digest(name: str, folder: Path, place: str) -> dict[str, str]:
    """Return the digests of the files that a price list is made of; the others come with the package."""
    try:
        find_prices(name, folder)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: prices: {str(error).removeprefix('prices: ')}") from None
    return {file: digest(read_bytes(str(folder / file))) for file in price_files(name)}


def made_point(model: ModelDefaults, values: Mapping[str, Any], place: str) -> Point:
    """Return the point of a model that has these values.

    Parameters
    ----------
    values
        Fields of Point and options of a training.
    place
        The sweep file, for messages.

    Raises
    ------
    InvalidInput
        If numbers do not go together.
    """
    training = {word: value for word, value in values.items() if word in TRAINING}
    fields = {name: value for name, value in values.items() if name not in TRAINING}
    if model.transformer:
        try:
            return _of_transformer(model, fields, training)
        except InvalidInput as error:
            raise InvalidInput(f"{place}: {fields['model']}: {error}") from None
    if "accelerators" in training:
        each = fields.get("accelerators_per_server", model.fields["accelerators_per_server"])
        servers, rest = divmod(training["accelerators"], each)
        if rest or servers < 2:
            raise InvalidInput(
                f"{place}: {fields['model']}: accelerators {training['accelerators']}: must be two or more servers of "
                f"{each}; take the value out, or give accelerators_per_server"
            )
        fields["servers"] = servers
    return Point(**{**model.fields, **fields})


def _of_transformer(model: ModelDefaults, fields: Mapping[str, Any], words: Mapping[str, Any]) -> Point:
    asked = _training(model.request, fields, words)
    cluster = asdict(asked.cluster)
    said = {**words, "global_batch": asked.global_batch, "seq": asked.model.sequence}
    said.pop("accelerators", None)
    kept = {name: value for name, value in fields.items() if name not in OF_OPERATORS}
    return Point(
        **{
            **model.fields,
            **asdict(JobSettings(compute="roofline", precision=asked.precision)),
            **kept,
            **{field: cluster[name] for field, name in CLUSTER.items()},
            "precision": asked.precision,
            "batch_per_accelerator": 0,
            "training": text_of_training(said),
        }
    )


def _training(request: JobRequest, fields: Mapping[str, Any], words: Mapping[str, Any]) -> TrainingRequest:
    """Return the completed request: the sweep file overrides the job file."""
    cluster = {CLUSTER[name]: value for name, value in fields.items() if name in CLUSTER}
    training = {**request.training, **words}
    if "servers" in cluster:
        training.pop("accelerators", None)
    elif "accelerators" in words:
        request = replace(
            request, cluster={key: value for key, value in request.cluster.items() if key != "servers"}
        )
    batch = fields.get("batch_per_accelerator", 0)
    if batch and "global_batch" in words:
        raise InvalidInput("global_batch: batch_per_accelerator says the batch, too; leave one of them out")
    settings = {"precision": fields["precision"]} if "precision" in fields else {}
    asked = replace(request, training=training, search={}).overlaid(
        JobRequest(cluster=cluster, settings=settings)
    )
    found = training_request(asked)
    return replace(found, global_batch=batch * found.cluster.total_accelerators) if batch else found


def refuse_unused(axes: Iterable[str], models: Iterable[ModelDefaults], place: str) -> None:
    """Refuse keys that no model of the sweep has.

    Raises
    ------
    InvalidInput
        With the key.
    """
    kinds = {model.transformer for model in models}
    for field in axes:
        key = KEY_OF_FIELD.get(field, field)
        if kinds == {False} and field in TRAINING and field != "accelerators":
            raise InvalidInput(
                f"{place}: {key}: is for transformers, and no model of the sweep is one; leave it out"
            )
        if kinds == {True} and field in OF_OPERATORS:
            raise InvalidInput(
                f"{place}: {key}: is for models of operators, and no model of the sweep is one; leave it out"
            )
