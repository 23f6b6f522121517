"""Results as charts, and as one HTML page that needs no network."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # a page of one room needs no other
    from topoopt.pages.answer_page import page_of as page_of
    from topoopt.pages.chart import Bar as Bar
    from topoopt.pages.chart import BarChart as BarChart
    from topoopt.pages.chart import Chart as Chart
    from topoopt.pages.chart import CircleChart as CircleChart
    from topoopt.pages.chart import HeatmapChart as HeatmapChart
    from topoopt.pages.chart import Limit as Limit
    from topoopt.pages.chart import LineChart as LineChart
    from topoopt.pages.chart import RingLine as RingLine
    from topoopt.pages.chart import Route as Route
    from topoopt.pages.chart import Series as Series
    from topoopt.pages.chart import TimelineChart as TimelineChart
    from topoopt.pages.cost_page import cost_page as cost_page
    from topoopt.pages.llm_traffic_page import draw_rank_traffic as draw_rank_traffic
    from topoopt.pages.llm_traffic_page import picture_format as picture_format
    from topoopt.pages.notebook import notebook_html as notebook_html
    from topoopt.pages.notebook import plot_answer as plot_answer
    from topoopt.pages.page import Block as Block
    from topoopt.pages.page import Facts as Facts
    from topoopt.pages.page import Notes as Notes
    from topoopt.pages.page import Page as Page
    from topoopt.pages.page import Section as Section
    from topoopt.pages.page import Table as Table
    from topoopt.pages.page import Tile as Tile
    from topoopt.pages.plan_facts import topology_of_plan as topology_of_plan
    from topoopt.pages.report import make_page as make_page
    from topoopt.pages.report import read_subject as read_subject
    from topoopt.pages.report_files import FORMATS as FORMATS
    from topoopt.pages.report_files import WrittenReport as WrittenReport
    from topoopt.pages.report_files import check_chart_file as check_chart_file
    from topoopt.pages.report_files import check_formats as check_formats
    from topoopt.pages.report_files import draw_charts as draw_charts
    from topoopt.pages.report_files import html as html
    from topoopt.pages.report_files import write_chart as write_chart
    from topoopt.pages.report_files import write_report as write_report
    from topoopt.pages.screen import figure as figure
    from topoopt.pages.sweep_page import lines_chart as lines_chart
    from topoopt.pages.sweep_page import sweep_report as sweep_report
    from topoopt.pages.tables import Column as Column
    from topoopt.pages.tables import counted as counted
    from topoopt.pages.tables import dollars as dollars
    from topoopt.pages.tables import facts as facts
    from topoopt.pages.tables import joined as joined
    from topoopt.pages.tables import listed as listed
    from topoopt.pages.tables import number as number
    from topoopt.pages.tables import table as table
    from topoopt.pages.tables import text as text
    from topoopt.pages.terminal import draw_facts as draw_facts
    from topoopt.pages.terminal import draw_page as draw_page
    from topoopt.pages.terminal import draw_table as draw_table
    from topoopt.pages.terminal import draw_title as draw_title
    from topoopt.pages.terminal import page_text as page_text
    from topoopt.pages.wiring_page import topology_chart as topology_chart
    from topoopt.pages.wiring_page import wiring_words as wiring_words
    from topoopt.pages.work_page import heatmap as heatmap

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
