"""What an export format is: a name, what it is for, and a function from a deployment to files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topoopt.plugins.exports.deployment import Deployment

Contents = Mapping[str, str | bytes]
"""What is in each file, by its name; a name may have a folder before a slash."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A way to write a plan down.

    Attributes
    ----------
    name : str
        As it is asked for, and what its folder is called.
    text : str
        What it is, in a line.
    files : str
        What its files are called, such as ``patch-list.csv``.
    consumer : str
        Who reads it.
    write : function from a deployment to files
        Raises Infeasible, with the reason, where the format cannot say the plan.
    """

    name: str
    text: str
    files: str
    consumer: str
    write: Callable[[Deployment], Contents]
