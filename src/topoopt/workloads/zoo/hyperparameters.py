"""Checks of a model's hyper-parameters, and the user's changes to them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, TypeVar

from topoopt.base.errors import InvalidInput, hint, shown
from topoopt.base.limits import MOST, MOST_OF_ANYTHING, whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST = 10**12
"""No hyper-parameter of a real model comes near; beyond, byte counts would leave 64 bits."""

P = TypeVar("P", bound="DataclassInstance")


def check_integers(parameters: "DataclassInstance", zero_allowed: Sequence[str] = ()) -> None:
    """Refuse a field that is not an integer, or a non-empty tuple of integers, of at least one.

    Raises
    ------
    InvalidInput
        With the field, its value and what is allowed. Fields of ``zero_allowed`` may be 0.
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


def with_overrides(model: str, defaults: P, overrides: Mapping[str, object]) -> P:
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
