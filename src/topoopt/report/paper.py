"""Charts for paper, by matplotlib: PNG, SVG and PDF, equal bytes for equal charts."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from topoopt.errors import InvalidInput, unknown_name
from topoopt.files import write_bytes_atomically
from topoopt.report.chart import Chart

FORMATS: Final = ("png", "svg", "pdf")


def draw_charts(
    charts: Iterable[Chart], folder: str | Path, formats: Sequence[str] = FORMATS
) -> tuple[str, ...]:
    """Draw each chart in each format and return the paths of the files, ``folder/<name>.<format>``.

    A published series is hollow. The folder is made where it is missing. Equal charts give equal bytes with one
    version of matplotlib.

    Raises
    ------
    InvalidInput
        For an unknown format, or a folder that cannot be made or written.
    """
    from topoopt.report.paper_figure import drawn  # noqa: PLC0415 - matplotlib takes a second to import

    wanted = check_formats(formats)
    place = _made_folder(folder)
    written = []
    for chart in charts:
        for name, data in drawn(chart, wanted).items():
            path = place / f"{chart.name}.{name}"
            write_bytes_atomically(path, data)
            written.append(str(path))
    return tuple(written)


def check_formats(formats: Iterable[str]) -> tuple[str, ...]:
    """Return the formats, each once; an unknown one is an :class:`InvalidInput`."""
    wanted = tuple(dict.fromkeys(formats))
    for name in wanted:
        if name not in FORMATS:
            raise unknown_name("format", name, FORMATS)
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
