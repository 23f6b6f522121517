"""Contents of a figure: its title, published values and their origins, explanations, charts and notes.

The texts are templates in ``data/NAME.toml``: a study computes rows and values, and fills in ``{word}``.
"""

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from topoopt.base.answers import Frame, Progress, ask, frame
from topoopt.pages import BarChart, Chart, Limit, LineChart, Series

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published value beside ours.

    Attributes
    ----------
    what : str
        Subject of the comparison, such as ``VGG16, 16 servers``.
    ours : float
        Our value in ``unit``.
    published_low, published_high : float
        The published value, or the ends of the published range.
    tolerance : float or None
        Relative distance from the range at which the value still counts as met; None where it is only reported.
    origin : str
        Source of the published value: a released file, a talk, memory of the paper.
    explanation : str
        Reason for a difference, if any.
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
    """Result of a study of one of the paper's figures.

    Attributes
    ----------
    name : str
        Name on the command line, such as ``fig13``.
    rows : tuple of mappings
        All with the same keys, which end in their units; the file of rows holds exactly these.
    comparisons : tuple of Comparison
    charts : tuple of Chart
    notes : tuple of str
        Method, assumptions and differences, with reasons.
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
    """Settings of a study: ``quick`` uses fewer points and smaller searches, as recorded in the notes."""

    quick: bool
    seed: int = 0


MOST_BARS = 16
"""Comparisons that are drawn."""
Study = Callable[[StudySettings, Progress], Figure]
Table = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The data file of a figure.

    Attributes
    ----------
    shown : str
        Description of the paper's figure, in a sentence or two.
    notes : sequence of templates
        A template, or a table of one with ``when``, a word that must be true, or ``each``, a word that holds a mapping
        of further options for each time that the note is made.
    compared : mapping of name to comparison
        ``what``, ``unit``, ``published`` (a value, or the ends of a range), ``tolerance``, ``origin`` and
        ``explanation``; each of them may be a table by case.
    charts : mapping of name to chart
        Fields of a chart; ``bars`` makes it one of bars, ``curves`` selects the columns of the rows to draw (see
        :class:`Curves`), ``published`` are series of the paper.
    tables : mapping
        Published figures that the study itself reads.
    """

    name: str
    title: str
    shown: str
    notes: Sequence[str | Table]
    compared: Mapping[str, Table]
    charts: Mapping[str, Table]
    tables: Table

    def figure(
        self, rows: Iterable[Row], comparisons: Iterable[Comparison], charts: Iterable[Chart], **words: Any
    ) -> Figure:
        """Return the figure; a row without some column of the others has nothing there.

        Where no chart has published values among ours, one more has ours over the published ones.
        """
        listed, compared, drawn = list(rows), tuple(comparisons), tuple(charts)
        columns = dict.fromkeys(column for row in listed for column in row)
        if not any(one.published for chart in drawn for one in getattr(chart, "series", ())):
            drawn += tuple(self._over_published(compared))
        return Figure(
            self.name,
            self.title,
            tuple({**columns, **row} for row in listed),
            compared,
            drawn,
            tuple(self._notes(words)),
        )

    def _over_published(self, compared: Sequence[Comparison]) -> Iterator[BarChart]:
        rows = {row.what: row.ratio for row in compared if row.published_high}
        farthest = set(sorted(rows, key=lambda what: -abs(rows[what] - 1))[:MOST_BARS])
        more = f"Those farthest from 1, of {len(rows)}." if len(rows) > MOST_BARS else ""
        rows = {what: ratio for what, ratio in rows.items() if what in farthest}
        if len(rows) > 1:
            yield BarChart(
                f"{self.name}-published",
                "Ours over the published values",
                "",
                "ratio, 1 within a published range",
                (Series("ours", tuple(rows), tuple(rows.values())),),
                horizontal=True,
                note=more,
                limits=(Limit(1.0, "published"),),
            )

    def comparison(self, name: str, ours: float, case: str = "", /, **words: Any) -> Comparison:
        """Return a value of ours beside the published one; values replace placeholders of the same name."""
        entry: dict[str, Any] = {
            key: value.get(case) if isinstance(value, dict) else value
            for key, value in self.compared[name].items()
        }
        there = words.get("published", entry.get("published"))
        low, high = there if isinstance(there, list | tuple) else (there, there)
        return Comparison(
            entry["what"].format(**words),
            entry.get("unit", ""),
            ours,
            low,
            high,
            words.get("tolerance", entry.get("tolerance")),
            entry["origin"].format(**words),
            (entry.get("explanation") or "").format(**words),
        )

    def chart(
        self, name: str, rows: Iterable[Row] = (), /, *series: Series, **words: Any
    ) -> LineChart | BarChart:
        """Return a chart: curves of the rows, further series, and published values."""
        entry = dict(self.charts[name])
        kind = BarChart if entry.pop("bars", False) else LineChart
        drawn = Curves(**entry.pop("curves")).series(rows) if "curves" in entry else ()
        published = [
            Series(
                one["name"], tuple(one["x"]), tuple(one["y"]), published=True, joined=one.get("joined", False)
            )
            for one in entry.pop("published", ())
        ]
        filled: dict[str, Any] = {
            key: value.format(**words) if isinstance(value, str) else value for key, value in entry.items()
        }
        return kind(series=(*drawn, *series, *published), **filled)

    def _notes(self, words: Mapping[str, Any]) -> Iterator[str]:
        for note in self.notes:
            entry = {"text": note} if isinstance(note, str) else note
            if "when" not in entry or words[entry["when"]]:
                cases = words[entry["each"]] if "each" in entry else [{}]
                yield from (entry["text"].format(**{**words, **case}) for case in cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Columns of rows to draw: a curve for each value of the column ``by``.

    Attributes
    ----------
    names : mapping, or pairs, of value to name
        Names of the curves drawn, in order; empty for all, by their values.
    x_scale, y_scale : float
        Factors of the values.
    x_is_word : bool
        Whether x are categories and no numbers.
    """

    by: str
    x: str
    y: str
    names: Mapping[str, str] | Sequence[tuple[Any, str]] = ()
    x_scale: float = 1
    y_scale: float = 1
    x_is_word: bool = False
    joined: bool = True

    def series(self, rows: Iterable[Row]) -> Iterator[Series]:
        """Yield the curves of rows; one without a row is left out."""
        listed = list(rows)
        for value, name in dict(self.names or ((row[self.by], row[self.by]) for row in listed)).items():
            mine = [row for row in listed if row[self.by] == value]
            if mine:
                at = [row[self.x] for row in mine]
                x = map(str, at) if self.x_is_word else (value * self.x_scale for value in at)
                y = tuple(row[self.y] * self.y_scale for row in mine)
                yield Series(name, tuple(x), y, joined=self.joined)


@cache
def description(name: str) -> Description:
    """Return the data file of a figure."""
    text = (files("topoopt.plugins.papers") / "data" / f"{name}.toml").read_text(encoding="utf-8")
    entries = {"notes": (), "compared": {}, "charts": {}, "tables": {}, **tomllib.loads(text)}
    return Description(name=name, **entries)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
