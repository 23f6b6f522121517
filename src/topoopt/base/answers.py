"""What every answer can do: ask another verb, show its page, and give its rows as a pandas table.

From a noun up to the verbs: a method such as ``plan.simulate`` asks the front door, when it is called.

Rooms import only from floors below their own, and nouns are made below the verbs. So the way up is by name.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from topoopt.base.errors import InvalidInput

T = TypeVar("T")
if TYPE_CHECKING:
    from pandas import DataFrame
Frame: TypeAlias = "DataFrame"
"""What :func:`frame` returns; pandas is imported when it is called."""


def frame(rows: Iterable[Mapping[str, Any]]) -> Frame:
    """Return a row for each mapping, a column for each of its keys, in their order.

    Raises
    ------
    InvalidInput
        If pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError:
        raise InvalidInput("to_frame: pandas is not installed; pip install pandas") from None
    return pandas.DataFrame([dict(row) for row in rows])


def ask(verb: str, *arguments: Any, **words: Any) -> Any:
    """Return what ``topoopt.<verb>(...)`` answers."""
    return getattr(import_module("topoopt"), verb)(*arguments, **words)


def shows_itself(kind: type[T]) -> type[T]:
    """Let a kind of answer show its page: as text in a shell, drawn in a notebook."""

    def text(answer: T) -> str:
        return str(ask("page_text", ask("page_of", answer))).strip("\n")

    def drawn(answer: T) -> str:
        return str(ask("notebook_html", answer))

    for name, method in (("__str__", text), ("__repr__", text), ("_repr_html_", drawn)):
        setattr(kind, name, method)
    return kind
