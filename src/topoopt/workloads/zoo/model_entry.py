"""An entry of the zoo: its published variants, the checks of its hyper-parameters, and its builder."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from topoopt.base.errors import InvalidInput, hint, shown
from topoopt.base.limits import MOST, MOST_OF_ANYTHING, whole
from topoopt.workloads.operator_graph import OperatorGraph

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Variant(Generic[P]):
    """A published set of hyperparameters.

    Attributes
    ----------
    servers : int
        Servers of the job it was published for.
    profiles : tuple of str
        Variants whose measured operator times apply, the most fitting first. A time is taken only for an
        operator of exactly the measured shape.
    """

    name: str
    servers: int
    description: str
    parameters: P
    profiles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelEntry(Generic[P]):
    """A model of the zoo: ``build(name, parameters)`` makes its operator graph.

    The variant for 16 servers ends in ``-16``, that for 128 in ``-128``; the first replaces a missing one.
    """

    title: str
    description: str
    build: Callable[[str, P], OperatorGraph]
    variants: tuple[Variant[P], ...]


if TYPE_CHECKING:
    from _typeshed import DataclassInstance
LARGEST = 10**12
"""No hyper-parameter of a real model comes near; beyond, byte counts would leave 64 bits."""
Parameters = TypeVar("Parameters", bound="DataclassInstance")


def check_integers(parameters: "DataclassInstance", zero_allowed: Sequence[str] = ()) -> None:
    """Refuse a field that is not an integer, or a non-empty tuple of integers, of at least one.

    Raises
    ------
    InvalidInput
        With the field, its value and the allowed values. Fields of ``zero_allowed`` may be 0.
    """
    for field in fields(parameters):
        value = getattr(parameters, field.name)
        least = 0 if field.name in zero_allowed else 1
        numbers = value if isinstance(value, tuple) else (value,)
        if not numbers or not all(_is_integer(number) and number >= least for number in numbers):
            what = "integers" if isinstance(value, tuple) else "an integer"
            raise InvalidInput(f"{field.name}: expected {what} >= {least}, got {shown(value)}")
        if max(numbers) > LARGEST:
            raise InvalidInput(f"{field.name}: must be at most {LARGEST:.0e}, got {shown(value)}")


def with_overrides(model: str, defaults: Parameters, overrides: Mapping[str, object]) -> Parameters:
    """Return ``defaults`` with some fields replaced; text such as ``32`` or ``942,5270`` is read as numbers.

    Raises
    ------
    InvalidInput
        For a field that does not exist (the nearest ones are offered) or a value that the model refuses.
    """
    known = [field.name for field in fields(defaults)]
    for name in overrides:
        if name not in known:
            raise InvalidInput(f"{model}: {name}: unknown hyper-parameter; {hint(name, known)}")
    changes = {
        name: _read(f"{model}: {name}", value, getattr(defaults, name), MOST.get(name, MOST_OF_ANYTHING))
        for name, value in overrides.items()
    }
    try:
        return replace(defaults, **changes)
    except InvalidInput as error:
        raise InvalidInput(f"{model}: {error}") from None


def _read(place: str, value: object, default: object, most: int) -> object:
    if isinstance(default, tuple):
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, Sequence):
            items = (items,)
        return tuple(whole(place, _integer(place, item), -most, most) for item in items)
    return whole(place, _integer(place, value), -most, most)


def _integer(place: str, value: object) -> object:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:  # also for thousands of digits
            raise InvalidInput(f'{place}: expected an integer, got "{value}"') from None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not _is_integer(value):
        raise InvalidInput(f"{place}: expected an integer, got {shown(value)}")
    return value


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def published_variants(model: str, parameters: type[P]) -> tuple[Variant[P], ...]:
    """Return the variants of a model in ``variants.toml``; hyper-parameters that are not there have their defaults."""
    return tuple(
        Variant(
            name,
            row["servers"],
            row["description"],
            parameters(**{name: _tuple(value) for name, value in row.get("parameters", {}).items()}),
            tuple(row.get("profiles", ())),
        )
        for name, row in _published()[model].items()
    )


def _tuple(value: Any) -> Any:
    """Return a list from a file as a tuple, as in hyperparameters."""
    return tuple(value) if isinstance(value, list) else value


@cache
def _published() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("topoopt.workloads.zoo").joinpath("variants.toml").read_text(encoding="utf-8"))
