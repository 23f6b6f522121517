"""The nouns of a page: what a report says, in which order; how it looks is not in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from topoopt.report.chart import Chart


@dataclass(frozen=True, slots=True)
class Tile:
    """One key number: ``value`` is written large, ``remark`` small below it."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text.

    Attributes
    ----------
    numbers : tuple of str
        Columns that are aligned to the right.
    folded : bool
        Whether it is shown only when asked for.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()
    folded: bool = False

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), (
            f"{self.title}: a row of another length"
        )
        assert set(self.numbers) <= set(self.columns), f"{self.title}: {self.numbers}"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    title: str
    rows: tuple[tuple[str, str], ...]


Block = Chart | Table | Facts


@dataclass(frozen=True, slots=True)
class Section:
    """Charts and tables about one question.

    Attributes
    ----------
    key : str
        Where links to it lead.
    caption : str
        One or two sentences that say what one sees.
    """

    key: str
    title: str
    caption: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole report.

    Attributes
    ----------
    kind : str
        ``plan``, ``comparison`` or ``cluster``.
    headline : str
        The answer in a sentence or two.
    warnings : tuple of str
        What the reader should know before he believes the numbers.
    key_numbers : mapping
        What the tiles say, as numbers; keys end in their unit.
    """

    kind: str
    title: str
    headline: str
    tiles: tuple[Tile, ...]
    warnings: tuple[str, ...]
    sections: tuple[Section, ...]
    key_numbers: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Every chart in the order of the page."""
        return tuple(
            block
            for section in self.sections
            for block in section.blocks
            if not isinstance(block, (Table, Facts))
        )
