"""A page in a terminal: headings, facts, tables, remarks; charts and details are left to the browser."""

from collections.abc import Iterable, Sequence
from io import StringIO
from itertools import pairwise

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from topoopt.pages.page import Facts, Notes, Page, Section, Table

SENTENCE = 24
"""Least width of a last text column; shorter texts are names and not wrapped."""
BETWEEN = 3
"""Spaces between two columns."""
WIDTH = 110
"""Columns where nothing is known of the reader's terminal."""


def page_text(page: Page, width: int = WIDTH) -> str:
    """Return a page as plain text of the given width."""
    console = Console(file=StringIO(), width=width, highlight=False, color_system=None, force_jupyter=False)
    draw_page(page, console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def draw_page(page: Page, console: Console) -> None:
    """Draw a page on a terminal; of one without a title, its first section has the heading."""
    if page.title:
        draw_title(console, page.title, page.remark)
    if page.answer_first:
        _draw_trimmed(console, Padding(Text(page.headline), (0, 0, 1, 2)))
    for index, section in enumerate(page.shown):
        _draw_section(console, section, heading=index > 0 or not page.title)
    if page.warnings:
        draw_title(console, "Warnings")
        _draw_notes(console, Notes(page.warnings, warn=True))
    if page.next_steps:
        draw_title(console, "Next")
        _draw_notes(console, Notes(page.next_steps))


def draw_title(console: Console, title: str, remark: str = "") -> None:
    """Draw a heading with a blank line above it."""
    line = Text(f"\n{title}", style="bold cyan")
    if remark:
        line.append(f"  {remark}", style="not bold default")
    console.print(line)


def draw_facts(console: Console, facts: Iterable[tuple[str, str]]) -> None:
    """Draw lines of name and value, the names in one column; a fact without a value is left out."""
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        if value:
            grid.add_row(f"  {name}", Text(value))
    _draw_trimmed(console, grid)


def draw_table(
    console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> None:
    """Draw a table; the columns named in ``numbers`` are aligned to the right.

    Where it is wider than the terminal, sentences in the last column are wrapped; where that is not enough, the
    table goes on below with its first column repeated. No number, name or word is ever broken.
    """
    cells = [tuple(row) for row in rows]
    for index, block in enumerate(column_blocks(columns, cells, numbers, console.width)):
        table = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="bold", show_edge=False)
        for column, width in block.items():
            right = columns[column] in numbers
            table.add_column(columns[column], justify="right" if right else "left", width=width)
        for row in cells:
            table.add_row(*(Text(row[column]) for column in block))
        if index:
            console.print()
        _draw_trimmed(console, table, width=sum(block.values()) + BETWEEN * len(block))


def _draw_section(console: Console, section: Section, heading: bool) -> None:
    """Draw a section; tables and facts are preceded by a blank line, notes are not."""
    if heading and section.title:
        draw_title(console, section.title, section.remark)
    for index, block in enumerate(section.shown):
        if index and not isinstance(block, Notes) and not getattr(block, "tight", False):
            console.print()
        match block:
            case Notes():
                _draw_notes(console, block)
            case Facts():
                draw_facts(console, block.rows)
            case Table():
                draw_table(console, block.columns, block.rows, block.numbers)


def _draw_notes(console: Console, notes: Notes) -> None:
    if notes.apart:
        _draw_trimmed(console, Text("\n" + "\n".join(notes.lines)))
        return
    mark, style = ("! ", "yellow") if notes.warn else ("", "")
    for line in notes.lines:
        _draw_trimmed(console, Text(f"  {mark}{line}", style=style))


def _draw_trimmed(console: Console, block: RenderableType, width: int = 0) -> None:
    """Draw without the spaces at the ends of lines, which only show in files and when marked to be copied."""
    options = console.options.update(width=max(width, console.width))
    for segments in console.render_lines(block, options, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments), end="")
        line.rstrip()
        console.print(line, soft_wrap=True)


def column_blocks(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str], width: int
) -> list[dict[int, int]]:
    """Return the blocks of a table, each from column index to width in characters.

    One block where everything fits in ``width``, headings and the sentences of the last column wrapped if they
    must be. Otherwise several, each starting with column 0.

    Examples
    --------
    >>> column_blocks(("fabric", "price"), [("torus", "$59.3 k")], ("price",), 80)
    [{0: 6, 1: 7}]
    >>> column_blocks(("name", "ports", "watts"), [("SN2700", "32", "250 W")], (), 19)
    [{0: 6, 1: 5}, {0: 6, 2: 5}]
    """
    widest = [max([len(row[column]) for row in rows], default=0) for column in range(len(headings))]
    full = [max(len(heading), size) for heading, size in zip(headings, widest, strict=True)]
    least = [max(_longest_word(heading), size) for heading, size in zip(headings, widest, strict=True)]
    if headings[-1] not in numbers:
        words = max([_longest_word(row[-1]) for row in rows], default=0)
        least[-1] = min(least[-1], max(SENTENCE, words))
    if len(headings) == 1:
        return [{0: min(full[0], max(width - BETWEEN + 1, least[0]))}]
    return [_widened(block, least, full, width) for block in _split(least, width)]


def _split(least: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of each block; a column that is too wide alone still gets a block."""
    blocks = [[0]]
    for column in range(1, len(least)):
        if len(blocks[-1]) > 1 and _taken(least, [*blocks[-1], column]) > width:
            blocks.append([0])
        blocks[-1].append(column)
    return blocks


def _widened(block: list[int], least: Sequence[int], full: Sequence[int], width: int) -> dict[int, int]:
    """Assign the rest of the line to the last column, then to headings that would wrap."""
    spare = max(width - _taken(least, block), 0)
    sizes = {column: least[column] for column in block}
    for column in [block[-1], *block[:-1]]:
        more = min(full[column] - sizes[column], spare)
        sizes[column] += more
        spare -= more
    return sizes


def _taken(sizes: Sequence[int], block: Sequence[int]) -> int:
    """Return the width of a line: a space at both ends, the columns and the gaps between them."""
    return 2 + sum(sizes[column] for column in block) + BETWEEN * sum(1 for _ in pairwise(block))


def _longest_word(text: str) -> int:
    return max([len(word) for word in text.split()], default=0)
