"""Answers of verbs: their common methods, their provenance, and the progress callback.

A method such as ``plan.simulate`` calls the verb ``topoopt.simulate``. Packages import only from lower layers, and
answers are defined below the verbs, so the verb is looked up by name when the method is called.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from topoopt.base.extras import library

__version__ = "0.2.0"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Enough to make a result again. It holds no clock and no host, so equal runs give equal bytes."""

    seed: int = 0
    inputs: Mapping[str, str] = field(default_factory=dict)
    version: str = __version__


Progress = Callable[[str, int, int], None]
"""Called with the stage, how much of it is done, and how much there is (0: unknown)."""
MOST_LINES = 15
"""Lines of an answer that a shell shows; printing it shows all."""
T = TypeVar("T")
if TYPE_CHECKING:
    from pandas import DataFrame
Frame: TypeAlias = "DataFrame"
"""Type of the result of :func:`frame`; pandas is imported only when it is called."""


def frame(rows: Iterable[Mapping[str, Any]]) -> Frame:
    """Return a row for each mapping, a column for each of its keys, in their order.

    Raises
    ------
    InvalidInput
        If pandas is not installed.
    """
    made: Frame = library("pandas", "frame", "to_frame").DataFrame([dict(row) for row in rows])
    return made


def fields_of(noun: object, *names: str) -> dict[str, Any]:
    """Return some fields of a noun by name, in this order.

    Examples
    --------
    >>> fields_of(Provenance(seed=3), "version", "seed")
    {'version': '0.2.0', 'seed': 3}
    """
    return {name: getattr(noun, name) for name in names}


class _HasRows(Protocol):
    def rows(self) -> Iterable[Mapping[str, Any]]: ...


def rows_to_frame(answer: _HasRows) -> Frame:
    """Return the rows as a pandas table.

    Raises
    ------
    InvalidInput
        If pandas is not installed.
    """
    return frame(answer.rows())


def ask(verb: str, *arguments: Any, **words: Any) -> Any:
    """Return the answer of ``topoopt.<verb>(...)``."""
    return getattr(import_module("topoopt"), verb)(*arguments, **words)


def shows_itself(kind: type[T]) -> type[T]:
    """Make a kind of answer display its page: its head in a shell, all when printed, drawn in a notebook.

    It also gets ``to_dict()``, and ``plot()``, which draws one of its charts on axes of matplotlib.
    """

    def text(answer: T) -> str:
        return str(ask("page_text", ask("page_of", answer))).strip("\n")

    def head(answer: T) -> str:
        lines = text(answer).split("\n")
        if len(lines) <= MOST_LINES:
            return "\n".join(lines)
        kept = lines[: MOST_LINES - 1]
        return "\n".join([*kept, f"… {len(lines) - len(kept)} more lines: print() shows all"])

    def drawn(answer: T) -> str:
        return str(ask("notebook_html", answer))

    def to_dict(answer: Any) -> dict[str, Any]:
        """Return the answer as :meth:`to_json` does."""
        found: dict[str, Any] = answer.to_json()
        return found

    def plot(answer: T, chart: str = "", axes: Any = None) -> Any:
        """Draw a chart of the answer, by its title or the first one, and return matplotlib's axes."""
        return ask("plot_answer", answer, chart, axes)

    methods = {"__str__": text, "__repr__": head, "_repr_html_": drawn, "to_dict": to_dict, "plot": plot}
    for name, method in methods.items():
        setattr(kind, name, method)
    return kind


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def digest(content: bytes) -> str:
    """Return the SHA-256 of an input, as written into result files.

    Examples
    --------
    >>> digest(b"")[:19]
    'sha256:e3b0c44298fc'
    """
    return "sha256:" + hashlib.sha256(content).hexdigest()
