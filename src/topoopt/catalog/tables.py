"""The catalogue's data files: one CSV a table, every row a noun, with its source."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_type_hints

from topoopt.schema.files import packaged_rows

NounT = TypeVar("NounT")
Row = Mapping[str, str]


def read_nouns(noun: type[NounT], name: str, **others: Callable[[Row], object]) -> tuple[NounT, ...]:
    """Return the rows of ``hardware/data/<name>.csv`` as nouns; columns are called like the fields.

    Parameters
    ----------
    **others
        What makes a field of a row where no column is called like it.
    """
    kinds = {field: kind for field, kind in get_type_hints(noun).items() if field not in others}
    return tuple(
        noun(
            **{field: _READ[kind](row[field]) for field, kind in kinds.items()},
            **{field: make(row) for field, make in others.items()},
        )
        for row in packaged_rows("catalog", name)
    )


def number_or_none(text: str) -> float | None:
    """Return the number, or None where the sources do not give one."""
    return float(text) if text else None


_READ: Mapping[Any, Callable[[str], object]] = {
    str: str,
    int: int,
    float: float,
    float | None: number_or_none,
}
