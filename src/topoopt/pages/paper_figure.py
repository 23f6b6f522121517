"""One chart as the bytes of a picture: its look, and what stands around its axes."""

import io
import textwrap
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from topoopt.pages.chart import BarChart, Chart
from topoopt.pages.paper_axes import draw_on, size_of
from topoopt.pages.polar_chart import PolarChart

_METADATA: Final[dict[str, Any]] = {
    "png": {"Software": "topoopt"},
    "svg": {"Date": None, "Creator": "topoopt"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "topoopt", "Producer": "topoopt"},
}
_GAP_POINTS: Final = 6
_LEGEND_LETTERS: Final = 72
"""Letters of a legend's line, over which it is broken."""
_TITLE_LETTERS: Final = 60
"""Letters of a line of the title: wider ones would make the whole figure wider than its axes."""
_TEXT_LETTERS: Final = 92
"""Letters of a line of the note."""


def draw(chart: Chart, formats: Sequence[str]) -> dict[str, bytes]:
    """Return one chart as the bytes of a file of each format."""
    result = {}
    with mpl.rc_context(), as_file(files("topoopt.pages").joinpath("assets", "paper.mplstyle")) as look:
        mpl.rc_file(look)
        figure = Figure(figsize=size_of(chart))
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(projection="polar" if isinstance(chart, PolarChart) else None)
        draw_on(axes, chart)
        _write_around(figure, axes, chart)
        for name in formats:
            stream = io.BytesIO()
            metadata = _METADATA[name]
            figure.savefig(stream, format=name, metadata=metadata, bbox_inches="tight", pad_inches=0.06)
            result[name] = stream.getvalue()
    return result


def _write_around(figure: Figure, axes: Axes, chart: Chart) -> None:
    """Put the title above the axes, the legend below them and the note below that, none over another."""
    figure.canvas.draw()
    scale = figure.dpi / 72
    box = axes.get_tightbbox()
    assert box is not None
    frame = axes.get_window_extent()
    top, bottom = max(box.y1, frame.y1), box.y0
    to_figure = figure.transFigure.inverted().transform
    left = float(to_figure((box.x0, 0))[0])
    title = "\n".join(textwrap.wrap(chart.title, _TITLE_LETTERS))
    above = float(to_figure((0, top + _GAP_POINTS * scale))[1])
    figure.text(left, above, title, fontsize=10.5, fontweight="bold", va="bottom")
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1 or (labels and not (isinstance(chart, BarChart) and not chart.stacked)):
        widest = max(map(len, labels)) + 6
        columns = max(1, min(len(labels), _LEGEND_LETTERS // widest))
        legend = figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(left, float(to_figure((0, bottom - _GAP_POINTS * scale / 2))[1])),
            ncols=columns,
            borderaxespad=0,
            handlelength=2.6,
        )
        figure.canvas.draw()
        bottom = legend.get_window_extent().y0
    if chart.note:
        note = "\n".join(textwrap.wrap(chart.note, _TEXT_LETTERS))
        at = float(to_figure((0, bottom - _GAP_POINTS * scale))[1])
        figure.text(left, at, note, fontsize=8, color="#444444", va="top")
