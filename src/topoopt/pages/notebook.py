"""An answer in a notebook: its page as plain HTML, and one picture."""

from collections.abc import Callable, Mapping
from html import escape
from types import MappingProxyType
from typing import Any

from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.base.extras import library
from topoopt.pages.answer_page import page_of
from topoopt.pages.chart import Chart
from topoopt.pages.fabric_tables import time_by_fabric
from topoopt.pages.page import Block, Facts, Notes, Section, Table
from topoopt.pages.plan_facts import topology_of_plan
from topoopt.pages.report import make_page
from topoopt.pages.report_files import lines_html, table_html
from topoopt.plans import Comparison, Plan

ROW = ' style="text-align:left;vertical-align:top"'
NUMBER = ' style="text-align:right;vertical-align:top;white-space:nowrap"'


PICTURES: Mapping[type, Callable[[Any], Chart]] = MappingProxyType(
    {Comparison: lambda answer: time_by_fabric(answer.fabrics), Plan: topology_of_plan}
)
"""The representative chart of an answer, by its kind."""


def notebook_html(answer: Any) -> str:
    """Return an answer as HTML without scripts, with its picture drawn inside."""
    page = page_of(answer)
    picture = PICTURES.get(type(answer))
    return "\n".join(
        [
            f"<h3>{escape(page.title or page.kind)} <small>{escape(page.remark)}</small></h3>",
            f"<p>{escape(page.headline)}</p>",
            lines_html(page.warnings) if page.warnings else "",
            "" if picture is None else _svg(picture(answer)),
            *(_section(section, is_first=index == 0) for index, section in enumerate(page.shown)),
        ]
    )


def plot_answer(answer: Any, chart: str = "", axes: Any = None) -> Any:
    """Draw one chart of an answer, and return matplotlib's axes.

    Parameters
    ----------
    chart
        Beginning of the title of a chart on the answer's page; the representative or first one if empty.
    axes
        Axes to draw on; a new figure's if None.

    Raises
    ------
    InvalidInput
        If the answer has no chart, or none of that title.
    """
    library("matplotlib", "figures", "plot")
    from topoopt.pages.paper_figure import axes_of  # noqa: PLC0415 - matplotlib takes a second to import

    picture = PICTURES.get(type(answer))
    if picture is not None and not chart:
        return axes_of(picture(answer), axes)
    charts = {one.title: one for one in make_page(answer).charts}
    found = [one for title, one in charts.items() if title.lower().startswith(chart.lower())]
    if not charts:
        raise InvalidInput(f"plot: the page of a {type(answer).__name__} has no chart")
    if not found:
        raise unknown_name("chart", chart, charts)
    return axes_of(found[0], axes)


def _section(section: Section, *, is_first: bool) -> str:
    blocks = "".join(map(_block, section.shown))
    opened = " open" if is_first or section.key in ("job", "network", "time", "fabrics") else ""
    title = f"{escape(section.title or section.key)} <small>{escape(section.remark)}</small>"
    return f"<details{opened}><summary><b>{title}</b></summary>{blocks}</details>"


def _block(block: Block) -> str:
    match block:
        case Facts():
            rows = tuple((name, value) for name, value in block.rows if value)
            return table_html(Table("", ("", ""), rows), (ROW, ROW))
        case Table():
            styles = [NUMBER if column in block.numbers else ROW for column in block.columns]
            return table_html(block, styles)
        case Notes():
            return lines_html(block.lines)
        case _:
            return ""


def _svg(chart: Chart) -> str:
    try:
        library("matplotlib", "figures", "picture")
    except InvalidInput as error:
        return f"<p>{escape(str(error))}</p>"
    from topoopt.pages.paper_figure import draw  # noqa: PLC0415 - matplotlib takes a second to import

    text = draw(chart, ("svg",))["svg"].decode()
    return text[text.index("<svg") :]
