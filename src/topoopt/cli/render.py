"""What every verb prints with: JSON, facts, tables."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_IN_A_FILE = 110
"""Columns where standard output is no terminal and COLUMNS does not say."""


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document; a number that JSON cannot hold is a mistake of ours."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def terminal() -> "Console":
    """Return the console on standard output."""
    from rich.console import Console

    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else WIDTH_IN_A_FILE, highlight=False)


def print_title(console: "Console", title: str, remark: str = "") -> None:
    """Print a heading with a blank line above it."""
    from rich.text import Text

    line = Text(f"\n{title}", style="bold cyan")
    if remark:
        line.append(f"  {remark}", style="not bold default")
    console.print(line)


def print_facts(console: "Console", facts: Iterable[tuple[str, str]]) -> None:
    """Print lines of name and value, the names in one column; a fact without a value is left out."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        if value:
            grid.add_row(f"  {name}", Text(value))
    _print_trimmed(console, grid)


def print_table(
    console: "Console", columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> None:
    """Print a table; the columns named in ``numbers`` are aligned to the right.

    Where it is wider than the terminal, sentences in the last column are wrapped; where that is not enough, the
    table goes on below with its first column repeated. No number, name or word is ever broken.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from topoopt.cli.columns import BETWEEN, column_blocks

    cells = [tuple(row) for row in rows]
    for index, block in enumerate(column_blocks(columns, cells, numbers, console.width)):
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="bold", show_edge=False)
        for column, width in block.items():
            right = columns[column] in numbers
            table.add_column(columns[column], justify="right" if right else "left", width=width)
        for row in cells:
            table.add_row(*(Text(row[column]) for column in block))
        if index:
            console.print()
        _print_trimmed(console, table, width=sum(block.values()) + BETWEEN * len(block))


def print_warning(console: "Console", warning: str) -> None:
    """Print what the user should know before he believes the numbers."""
    from rich.text import Text

    console.print(Text(f"  ! {warning}", style="yellow"))


def counted(count: int, thing: str) -> str:
    """Return ``1 ring`` or ``4 rings``."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"


def _print_trimmed(console: "Console", block: "RenderableType", width: int = 0) -> None:
    """Print without the spaces at the ends of lines, which only show in files and when marked to be copied."""
    from rich.text import Text

    options = console.options.update(width=max(width, console.width))
    for segments in console.render_lines(block, options, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments), end="")
        line.rstrip()
        console.print(line, soft_wrap=True)
