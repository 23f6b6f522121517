"""The nouns of a reproduced figure: rows, our values beside the published ones, charts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from topoopt.base.answers import Frame, ask, frame
from topoopt.pages import Chart

Row = Mapping[str, Any]
Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is (0: nobody knows)."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One published value beside ours.

    Attributes
    ----------
    what : str
        What is compared, such as ``VGG16, 16 servers``.
    ours : float
        In ``unit``.
    published_low, published_high : float
        The published value, or the ends of the published range.
    tolerance : float or None
        Relative distance from the range at which the value still counts as met; None where it is only
        reported.
    origin : str
        Where the published value stands: a released file, a talk, memory of the paper.
    explanation : str
        Why the values differ, where they do.
    """

    what: str
    unit: str
    ours: float
    published_low: float
    published_high: float
    tolerance: float | None
    origin: str
    explanation: str = ""

    @property
    def ratio(self) -> float:
        """Ours over the nearest end of the published range; 1 inside."""
        nearest = min(max(self.ours, self.published_low), self.published_high)
        return self.ours / nearest if nearest else 1.0 + (self.ours != nearest)

    @property
    def met(self) -> bool | None:
        """Whether ours is within the tolerance; None where none is set."""
        return None if self.tolerance is None else abs(self.ratio - 1) <= self.tolerance + 1e-12


@dataclass(frozen=True, slots=True, repr=False)
class Figure:
    """What one study of a paper's figure has found.

    Attributes
    ----------
    name : str
        As on the command line, such as ``fig13``.
    rows : tuple of mappings
        All with the same keys, which end in their units; the file of rows holds exactly these.
    comparisons : tuple of Comparison
    charts : tuple of Chart
    notes : tuple of str
        What a reader should know: how it was computed, what was assumed, what differs and why.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    comparisons: tuple[Comparison, ...]
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]

    def to_frame(self) -> Frame:
        """Return the rows; needs pandas."""
        return frame(self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return the figure; a value that is no number is null."""
        return {
            "figure": self.name,
            "title": self.title,
            "comparisons": [{**asdict(row), "ratio": row.ratio, "met": row.met} for row in self.comparisons],
            "notes": list(self.notes),
            "rows": [{key: _plain(value) for key, value in row.items()} for row in self.rows],
        }

    def __str__(self) -> str:
        return str(ask("page_text", ask("figure_page", self))).strip("\n")

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class StudySettings:
    """How a study is run: ``quick`` takes fewer points and smaller searches, and says so in the notes."""

    quick: bool
    seed: int = 0


Study = Callable[[StudySettings, Progress], Figure]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
