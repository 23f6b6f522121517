"""A sweep file and the points that it means."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.provenance import digest
from topoopt.pricing import find_prices, price_files
from topoopt.schema.files import parse_yaml, read_bytes, read_text, validated
from topoopt.studies.sweep.defaults import ModelDefaults, defaults_of
from topoopt.studies.sweep.made_point import made_point, refuse_unused
from topoopt.studies.sweep.model import KEY_OF_FIELD, SweepModel
from topoopt.studies.sweep.point import Point

MOST_POINTS = 100_000
"""More are taken for a mistake: at a tenth of a second each they would take three hours."""

Box = Mapping[str, list[Any]]


@dataclass(frozen=True)
class Sweep:
    """What a sweep file asks for.

    Attributes
    ----------
    folder : str
        Where job files and price lists of the sweep lie.
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

    Transformers do not have what is for operators, and the other way round: of values that a model does not have there
    is one point.

    Raises
    ------
    InvalidInput
        In one line, with the place, for whatever is misspelled, empty, double, or cannot go together.
    """
    text = read_text(path)
    return make_sweep(parse_yaml(text, str(path)), Path(path).resolve().parent, str(path), text)


def make_sweep(document: object, folder: str | Path, place: str, text: str) -> Sweep:
    """Return the points of what a sweep file says; see :func:`read_sweep`.

    Parameters
    ----------
    folder
        Where job files and price lists of the sweep lie.
    place
        What messages name, and the sweep is called by.
    text
        By which the sweep is known in a results file.
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
    kept = _without(combinations, excluded, place)
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


def _without(combinations: list[dict[str, Any]], excluded: list[Box], place: str) -> list[dict[str, Any]]:
    """Return the combinations that lie in none of the boxes."""
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
    return kept


def _inside(values: Mapping[str, Any], box: Box) -> bool:
    return all(values[field] in allowed for field, allowed in box.items())


def _check(point: Point, values: Mapping[str, Any], checked: set[tuple[object, ...]], place: str) -> None:
    """Refuse what can be seen to be impossible before anything is computed."""
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
