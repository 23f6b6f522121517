"""Pages as data: the contents of an answer and their order, independent of the layout.

The terminal and the browser show the same page. What only a browser has room for is marked as ``detail``; charts and
folded tables are left out of a terminal, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from topoopt.pages.chart import Chart


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
        Whether it is shown only when one unfolds it.
    detail : bool
        Whether a terminal leaves it out.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[str, ...] = ()
    folded: bool = False
    detail: bool = False

    @property
    def is_detail(self) -> bool:
        """Whether only a browser has room for it."""
        return self.detail or self.folded

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), (
            f"{self.title}: a row of another length"
        )
        assert set(self.numbers) <= set(self.columns), f"{self.title}: {self.numbers}"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values; a fact without a value is not shown.

    Attributes
    ----------
    tight : bool
        Whether it follows the block above without a blank line.
    """

    title: str
    rows: tuple[tuple[str, str], ...]
    tight: bool = False
    is_detail: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class Notes:
    """Lines of text, such as remarks on the table above them.

    Attributes
    ----------
    warn : bool
        Whether the note is a warning to be read first.
    apart : bool
        A paragraph of its own, below a blank line.
    """

    lines: tuple[str, ...]
    warn: bool = False
    apart: bool = False
    is_detail: ClassVar[bool] = False


Block = Chart | Table | Facts | Notes
Lines = Table | Facts | Notes
"""Blocks of text."""


@dataclass(frozen=True, slots=True)
class Section:
    """Charts and tables about one question.

    Attributes
    ----------
    key : str
        Anchor of links to the section.
    caption : str
        One or two sentences that explain the section, for a browser.
    remark : str
        A word or two beside the title.
    detail : bool
        Whether a terminal leaves it out.
    """

    key: str
    title: str
    caption: str
    blocks: tuple[Block, ...]
    remark: str = ""
    detail: bool = False

    @property
    def shown(self) -> tuple[Lines, ...]:
        """Blocks for a terminal and a notebook: no charts, no details, nothing folded."""
        return tuple(block for block in self.blocks if isinstance(block, Lines) and not block.is_detail)


@dataclass(frozen=True, slots=True)
class Page:
    """A whole answer. A terminal shows the first section right below the title, without a heading.

    Attributes
    ----------
    kind : str
        Kind of answer, such as ``plan``, ``comparison`` or ``cluster``.
    headline : str
        Summary of the answer in one or two sentences, the most important first.
    warnings : tuple of str
        Caveats about the figures.
    key_numbers : mapping
        Values of the tiles as numbers; keys end in their unit.
    remark : str
        Note beside the title.
    next_steps : tuple of str
        Suggested next commands.
    answer_first : bool
        Whether a terminal has the headline, too.
    """

    kind: str
    title: str
    headline: str = ""
    tiles: tuple[Tile, ...] = ()
    warnings: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    key_numbers: Mapping[str, float | None] = field(default_factory=dict)
    remark: str = ""
    next_steps: tuple[str, ...] = ()
    answer_first: bool = False

    @property
    def heading(self) -> str:
        """The title with its remark; of a page without a title, its kind."""
        return f"{self.title or self.kind} {self.remark}".rstrip()

    @property
    def shown(self) -> tuple[Section, ...]:
        """The sections that there is room for in a terminal and in a notebook."""
        return tuple(section for section in self.sections if section.shown and not section.detail)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Every chart in the order of the page."""
        return tuple(
            block for section in self.sections for block in section.blocks if not isinstance(block, Lines)
        )
