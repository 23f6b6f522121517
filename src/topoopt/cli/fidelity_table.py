"""One fabric beside another at several fidelities: iteration times, their difference, and the tasks behind it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.search import Fidelities

LISTED, SHOWN = 20, 3
"""Tasks of each fabric in JSON, and on the screen."""


def fidelity_names(text: str | None) -> tuple[str, ...]:
    """Return the simulators of ``--simulators``, none if it was not given.

    Raises
    ------
    InvalidInput
        For an unknown name, one given twice, or less than two.
    """
    from topoopt.simulate import SIMULATORS

    if text is None:
        return ()
    names = tuple(word.strip() for word in text.split(","))
    for name in names:
        if name not in SIMULATORS:
            raise unknown_name("simulator", name, SIMULATORS)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidInput(
            f'--simulators: expected two or more different ones, such as flow,packet, got "{text}"'
        )
    return names


def fidelity_rows(found: "Sequence[Fidelities]") -> list[dict[str, Any]]:
    """Return what JSON holds of each fabric."""
    return [
        {
            "iteration_times_s": {result.simulator: result.iteration_time_s for result in row.results},
            "difference": row.difference,
            "tasks": [
                {
                    "task": task.task,
                    "name": task.name,
                    "times_s": _by_simulator(row, task.seconds),
                    "difference_s": task.difference_s,
                }
                for task in row.tasks(LISTED)
            ],
        }
        for row in found
    ]


def _by_simulator(row: "Fidelities", seconds: Sequence[float]) -> dict[str, float]:
    return dict(zip((result.simulator for result in row.results), seconds, strict=True))


def print_fidelities(console: "Console", found: "Sequence[Fidelities]") -> None:
    """Print the iteration times of every fabric, then the tasks of the network that differ most."""
    from topoopt.cli.render import print_table, print_title
    from topoopt.units import format_time

    names = [result.simulator for result in found[0].results]
    columns = (*names, "difference")
    print_title(console, "The same at several fidelities", f"{names[-1]} against {names[0]}")
    print_table(
        console,
        ("fabric", *columns, "what it is"),
        [
            (
                row.fabric,
                *(format_time(result.iteration_time_s) for result in row.results),
                f"{row.difference:+.2%}",
                row.description,
            )
            for row in found
        ],
        numbers=columns,
    )
    print_title(console, "Tasks that differ most", "from when they may begin to their last byte")
    print_table(
        console,
        ("fabric", *columns, "task"),
        [
            (
                row.fabric,
                *(format_time(time_s) for time_s in task.seconds),
                format_time(task.difference_s),
                task.name,
            )
            for row in found
            for task in row.tasks(SHOWN)
        ],
        numbers=columns,
    )
