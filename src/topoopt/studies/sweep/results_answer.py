"""The noun of an answer from a results file: rows, and what is in the file."""

from dataclasses import asdict, dataclass
from typing import Any

from topoopt.base.answers import Frame, frame, shows_itself
from topoopt.studies.sweep.results import Rows
from topoopt.studies.sweep.summary import Summary


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class ResultsAnswer:
    """Rows of a results file.

    Attributes
    ----------
    live : bool
        Whether a sweep is writing the file: the rows are those of the moment in which it was opened.
    limit : int
        Most rows that were asked for; 0 for all.
    whole : bool
        Whether no question was asked: then the summary is what one wants to see, too.
    """

    file: str
    live: bool
    summary: Summary
    rows: Rows
    limit: int = 0
    whole: bool = True

    def to_frame(self) -> Frame:
        """Return the rows; needs pandas."""
        return frame(self._records())

    def to_json(self) -> dict[str, Any]:
        """Return the rows with what is in the file."""
        return {
            "file": self.file,
            "live": self.live,
            **asdict(self.summary),
            "columns": self.rows.columns,
            "rows": self._records(),
        }

    def _records(self) -> list[dict[str, Any]]:
        columns = self.rows.columns
        return [dict(zip(columns, map(_plain, row), strict=True)) for row in self.rows.rows]


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it; what SQL can make and JSON not, as text."""
    if isinstance(value, float) and not float("-inf") < value < float("inf"):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)
