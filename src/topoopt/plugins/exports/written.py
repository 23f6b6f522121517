"""A deployment in one format, in several, or in all that can say it."""

from collections.abc import Callable, Sequence

from topoopt.base.errors import Infeasible, InvalidInput, NoRoute, check_known
from topoopt.plugins.exports.answer import ExportedFormat, Refused
from topoopt.plugins.exports.deployment import Deployment
from topoopt.plugins.exports.table import FORMATS

ALL = "all"


def exported(
    deployment: Deployment, names: Sequence[str], on_progress: Callable[[str, int, int], None]
) -> tuple[tuple[ExportedFormat, ...], tuple[Refused, ...]]:
    """Return the files of every format, and the formats that refuse the plan.

    The files of several formats are in a folder each.

    Parameters
    ----------
    names : sequence of str
        Formats, or ``all``, which leaves out those that refuse.
    on_progress
        Called with what is written, how many formats are done and how many there are.

    Raises
    ------
    InvalidInput
        For an unknown name, or none.
    Infeasible
        If a format that is named cannot say the plan, with the reason.
    """
    if not names:
        raise InvalidInput(f"format: name one or several of {', '.join(FORMATS)}, or {ALL}")
    for name in names:
        check_known("format", name, (*FORMATS, ALL))
    every = ALL in names
    chosen = [row for row in FORMATS.values() if every or row.name in names]
    done, refused = [], []
    for number, row in enumerate(chosen):
        on_progress(f"writing {row.name}", number, len(chosen))
        try:
            files = row.write(deployment)
        except (Infeasible, NoRoute) as error:
            if not every:
                raise Infeasible(f"{row.name}: {error}") from None
            refused.append(Refused(row, str(error)))
            continue
        folder = f"{row.name}/" if len(chosen) > 1 else ""
        done.append(ExportedFormat(row, {f"{folder}{name}": data for name, data in files.items()}))
    return tuple(done), tuple(refused)
