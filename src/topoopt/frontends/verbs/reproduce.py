"""``topoopt.reproduce``: the paper's figures made again, ours beside the published."""

from collections.abc import Mapping

from topoopt.base.errors import InvalidInput
from topoopt.base.progress import Progress, silent
from topoopt.plugins.papers import STUDIES, Figure, StudySettings, find_study
from topoopt.schema.words import checked_arguments


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
