"""An axis of a sweep file: one value, or a list of different ones."""

from collections.abc import Iterable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BeforeValidator, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema

from topoopt.base.errors import unknown_name
from topoopt.jobs import BucketText
from topoopt.schema.files import BandwidthText, TimeText

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


def one_of(kind: str, known: Iterable[str]) -> AfterValidator:
    """Return the check of a name; a misspelled one is answered with the nearest."""
    names = tuple(known)

    def check(value: str) -> str:
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
