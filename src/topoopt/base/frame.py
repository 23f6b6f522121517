"""Rows of an answer as a pandas table, where pandas is installed: ``pip install topoopt[frame]``."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from topoopt.base.errors import InvalidInput

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
