"""Charts for paper, by matplotlib: PNG, SVG and PDF, equal bytes for equal charts."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from topoopt.errors import InvalidInput, check_known
from topoopt.files import write_bytes_atomically
from topoopt.report.chart import Chart

FORMATS: Final = ("png", "svg", "pdf")


Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is."""


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def draw_charts(
    charts: Iterable[Chart],
    folder: str | Path,
    formats: Sequence[str] = FORMATS,
    on_progress: Progress = _silent,
) -> tuple[str, ...]:
    """Draw each chart in each format and return the paths of the files, ``folder/<name>.<format>``.

    A published series is hollow. The folder is made where it is missing; files are written when all are drawn. Equal
    charts give equal bytes with one version of matplotlib.

    Raises
    ------
    InvalidInput
        For an unknown format, or a folder that cannot be made or written.
    """
    from topoopt.report.paper_figure import drawn  # noqa: PLC0415 - matplotlib takes a second to import

    wanted, place, rows = check_formats(formats), _made_folder(folder), list(charts)
    files: dict[Path, bytes] = {}
    for done, chart in enumerate(rows):
        on_progress("drawing figures", done, len(rows))
        for name, data in drawn(chart, wanted).items():
            files[place / f"{chart.name}.{name}"] = data
    for path, data in files.items():
        write_bytes_atomically(path, data)
    return tuple(map(str, files))


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """Return the formats, each once; an unknown one is an :class:`InvalidInput`."""
    wanted = tuple(dict.fromkeys(formats))
    for name in wanted:
        check_known("format", name, FORMATS)
    return wanted


def _made_folder(folder: str | Path) -> Path:
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InvalidInput(f"{folder}: is a file, expected a folder for the figures") from None
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"{folder}: the folder for the figures cannot be made: {reason}") from None
    return place
