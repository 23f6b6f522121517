"""``topoopt.reproduce``, and its table of studies: every figure of the paper that can be made again, by name."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.base.progress import Progress, silent
from topoopt.plugins.papers.cassini import cassini
from topoopt.plugins.papers.fig10 import fig10
from topoopt.plugins.papers.fig11 import fig11
from topoopt.plugins.papers.fig12 import fig12
from topoopt.plugins.papers.fig13 import fig13
from topoopt.plugins.papers.fig14 import fig14
from topoopt.plugins.papers.fig15 import fig15
from topoopt.plugins.papers.fig16 import fig16
from topoopt.plugins.papers.fig17 import fig17
from topoopt.plugins.papers.figure import Figure, Study, StudySettings, description
from topoopt.plugins.papers.mixnet import mixnet
from topoopt.plugins.papers.mltcp import mltcp
from topoopt.plugins.papers.motivation import motivation
from topoopt.plugins.papers.serving import serving
from topoopt.plugins.papers.table1 import table1
from topoopt.plugins.papers.testbed import testbed
from topoopt.plugins.papers.wirings import wirings
from topoopt.schema.words import checked_arguments


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """One figure of the paper.

    Attributes
    ----------
    study : function
        Makes the figure anew.
    shown : str
        What the paper's figure shows, in a sentence or two.
    measured : bool
        Whether it is measured on this machine, and so never the same twice: it is made when it is named, and not among
        all figures.
    """

    title: str
    study: Study
    shown: str
    measured: bool = False


MEASURED = ("testbed",)

STUDIES: Mapping[str, StudyEntry] = {
    name: StudyEntry(description(name).title, study, description(name).shown, name in MEASURED)
    for name, study in {  # in the order of the paper
        "motivation": motivation,
        "fig10": fig10,
        "fig11": fig11,
        "fig12": fig12,
        "fig13": fig13,
        "fig14": fig14,
        "fig15": fig15,
        "fig16": fig16,
        "fig17": fig17,
        "testbed": testbed,
        "table1": table1,
        "mixnet": mixnet,
        "cassini": cassini,
        "mltcp": mltcp,
        "wirings": wirings,
        "serving": serving,
    }.items()
}


def find_study(name: str) -> StudyEntry:
    """Return a study by its name; an unknown one is an :class:`~topoopt.base.errors.InvalidInput` with the nearest."""
    if name not in STUDIES:
        raise unknown_name("figure", name, [*STUDIES, "all", "list"])
    return STUDIES[name]


@checked_arguments
def reproduce(name: str, *, quick: bool = False, seed: int = 0, on_progress: Progress = silent) -> Figure:
    """Make a figure of the paper again: ours beside the published.

    Parameters
    ----------
    name
        A key of :func:`topoopt.reproducible`, such as ``fig13``.
    quick
        Fewer points and smaller searches.
    seed
        For whatever is drawn: searches, random graphs.
    on_progress
        Called with the stage, what is done and what there is.

    Returns
    -------
    Figure

    Raises
    ------
    InvalidInput
        For an unknown figure.

    Examples
    --------
    >>> import topoopt
    >>> table = topoopt.reproduce("table1", quick=True)
    >>> all(row.met for row in table.comparisons if row.met is not None)
    True
    """
    if seed < 0:
        raise InvalidInput(f"seed: expected an integer >= 0, got {seed}")
    return find_study(name).study(StudySettings(quick, seed), on_progress)


def reproducible(measured: bool = True) -> Mapping[str, str]:
    """Return the figures that :func:`topoopt.reproduce` makes, with their titles.

    Parameters
    ----------
    measured
        Those, too, that are measured on this machine and need root, such as ``testbed``.
    """
    return {key: entry.title for key, entry in STUDIES.items() if measured or not entry.measured}
