"""The table of studies: every figure of the paper that can be made again, by its name on the command line."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.errors import unknown_name
from topoopt.reproduction import table1
from topoopt.reproduction.figure import Study


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """A figure's title, and the function that makes it."""

    title: str
    study: Study


STUDIES: Mapping[str, StudyEntry] = {
    # In the order of the paper; each in a file of its own name, with its TITLE.
    # "motivation": StudyEntry(motivation.TITLE, motivation.motivation),
    # "fig11": StudyEntry(fig11.TITLE, fig11.fig11), and fig16, fig17 likewise
    "table1": StudyEntry(table1.TITLE, table1.table1),
}


def find_study(name: str) -> StudyEntry:
    """Return a study by its name; an unknown one is an :class:`~topoopt.errors.InvalidInput` with the nearest."""
    if name not in STUDIES:
        raise unknown_name("figure", name, [*STUDIES, "all", "list"])
    return STUDIES[name]
