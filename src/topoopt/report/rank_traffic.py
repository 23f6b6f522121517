"""What ranks or servers of a transformer's training send each other, as a page of heat maps and tables."""

from topoopt.report.chart import HeatmapChart
from topoopt.report.page import Page, Section, Table, Tile


def traffic_page(
    title: str,
    headline: str,
    tiles: tuple[Tile, ...],
    charts: tuple[HeatmapChart, ...],
    tables: tuple[Table, ...],
) -> Page:
    """Return the maps, made by :func:`~topoopt.report.heatmap`, and the tables as a page."""
    caption = "Bytes of one iteration. Collectives go around rings in the order of their ranks."
    why = "Messages of one iteration, by the parallelism that needs them."
    return Page(
        "transformer's traffic",
        title,
        headline,
        tiles,
        (),
        (
            Section("matrix", "Who sends to whom", caption, charts),
            Section("kinds", "Why they send", why, tables),
        ),
    )
