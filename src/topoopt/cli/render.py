"""What every verb prints with: JSON, facts, tables."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

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
    console.print(grid)


def print_table(
    console: "Console", columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> None:
    """Print a table; the columns named in ``numbers`` are aligned to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), header_style="bold", show_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def print_warning(console: "Console", warning: str) -> None:
    """Print what the user should know before he believes the numbers."""
    from rich.text import Text

    console.print(Text(f"  ! {warning}", style="yellow"))


def counted(count: int, thing: str) -> str:
    """Return ``1 ring`` or ``4 rings``."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
