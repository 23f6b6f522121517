"""What every verb prints with: JSON, and pages."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
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


def show(
    answer: Any, as_json: bool, next_steps: Sequence[str] = (), written: Sequence[str | None] = ()
) -> None:
    """Print an answer as JSON; or its page, commands to go on with, and the files that were written."""
    if as_json:
        print_json(answer.to_json())
        return
    show_page(replace(topoopt.page_of(answer), next_steps=tuple(next_steps)))
    names = [name for name in written if name is not None]
    if names:
        print(f"\nWritten: {', '.join(names)}")


def show_page(page: "topoopt.Page") -> None:
    """Print a page."""
    topoopt.draw_page(page, terminal())


def terminal() -> "Console":
    """Return the console on standard output."""
    from rich.console import Console

    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else WIDTH_IN_A_FILE, highlight=False)
