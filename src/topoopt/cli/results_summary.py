"""The summary of a results file as a person reads it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.sweep import Results, Summary

MOST_VALUES = 12
MOST_ERRORS = 5


def print_summary(console: "Console", opened: "Results", summary: "Summary") -> None:
    """Print what is in the file, which settings differ in it, and why some points have no result."""
    from topoopt.cli.render import counted, print_facts, print_title, print_warning

    total = sum(summary.by_status.values())
    print_title(
        console, opened.path, f"{counted(total, 'point')} of {', '.join(summary.sweeps) or 'no sweep'}"
    )
    without = [f"{count:,} {status}" for status, count in summary.by_status.items() if status != "ok"]
    print_facts(
        console,
        [
            *((name, _values(name, values)) for name, values in summary.axes.items()),
            ("computed by", f"topoopt {', '.join(summary.versions)}, in {counted(summary.runs, 'run')}"),
            ("without result", ", ".join(without)),
        ],
    )
    for message, count in summary.errors[:MOST_ERRORS]:
        print_warning(console, f"{counted(count, 'point')}: {message}")
    if len(summary.errors) > MOST_ERRORS:
        print_warning(
            console, f"and for {len(summary.errors) - MOST_ERRORS} other reasons: see the column error"
        )


def _values(name: str, values: tuple[Any, ...]) -> str:
    from topoopt.cli.cells import cell

    shown = [cell(name, value) for value in values[:MOST_VALUES]]
    more = len(values) - MOST_VALUES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
