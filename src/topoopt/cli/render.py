"""What every verb prints with: JSON, facts, tables."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import topoopt

if TYPE_CHECKING:
    from rich.console import Console

WIDTH_IN_A_FILE = 110
"""Columns where standard output is no terminal and COLUMNS does not say."""


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document; a number that JSON cannot hold is a mistake of ours."""
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))


def show(answer: Any, next_steps: Sequence[str] = (), written: Sequence[str | None] = ()) -> None:
    """Print the page of an answer, commands to go on with, and the files that were written."""
    page = topoopt.page_of(answer)
    topoopt.draw_page(replace(page, next_steps=tuple(next_steps)), terminal())
    names = [name for name in written if name is not None]
    if names:
        print(f"\nWritten: {', '.join(names)}")


def terminal() -> "Console":
    """Return the console on standard output."""
    from rich.console import Console

    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else WIDTH_IN_A_FILE, highlight=False)


def print_title(console: "Console", title: str, remark: str = "") -> None:
    """Print a heading with a blank line above it."""
    from topoopt.report import draw_title

    draw_title(console, title, remark)


def print_facts(console: "Console", facts: Iterable[tuple[str, str]]) -> None:
    """Print lines of name and value, the names in one column; a fact without a value is left out."""
    from topoopt.report import draw_facts

    draw_facts(console, facts)


def print_table(
    console: "Console", columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> None:
    """Print a table; the columns named in ``numbers`` are aligned to the right."""
    from topoopt.report import draw_table

    draw_table(console, columns, rows, numbers)


def print_warning(console: "Console", warning: str) -> None:
    """Print what the user should know before he believes the numbers."""
    from rich.text import Text

    console.print(Text(f"  ! {warning}", style="yellow"))


def counted(count: int, thing: str) -> str:
    """Return ``1 ring`` or ``4 rings``."""
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
