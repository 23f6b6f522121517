"""Results as charts, and as one HTML page that needs no network."""

from typing import TYPE_CHECKING

from topoopt.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # a page of one room needs no other
    from topoopt.report.answer_page import page_of as page_of
    from topoopt.report.chart import Bar as Bar
    from topoopt.report.chart import BarChart as BarChart
    from topoopt.report.chart import Chart as Chart
    from topoopt.report.chart import CircleChart as CircleChart
    from topoopt.report.chart import HeatmapChart as HeatmapChart
    from topoopt.report.chart import LineChart as LineChart
    from topoopt.report.chart import RingLine as RingLine
    from topoopt.report.chart import Route as Route
    from topoopt.report.chart import Series as Series
    from topoopt.report.chart import TimelineChart as TimelineChart
    from topoopt.report.chart_files import FORMATS as FORMATS
    from topoopt.report.chart_files import check_chart_file as check_chart_file
    from topoopt.report.chart_files import check_formats as check_formats
    from topoopt.report.chart_files import draw_charts as draw_charts
    from topoopt.report.chart_files import write_chart as write_chart
    from topoopt.report.cost_page import cost_page as cost_page
    from topoopt.report.html import html as html
    from topoopt.report.html import write_report as write_report
    from topoopt.report.lines_chart import lines_chart as lines_chart
    from topoopt.report.llm_traffic_page import draw_rank_traffic as draw_rank_traffic
    from topoopt.report.llm_traffic_page import picture_format as picture_format
    from topoopt.report.notebook import notebook_html as notebook_html
    from topoopt.report.page import Facts as Facts
    from topoopt.report.page import Notes as Notes
    from topoopt.report.page import Page as Page
    from topoopt.report.page import Section as Section
    from topoopt.report.page import Table as Table
    from topoopt.report.page import Tile as Tile
    from topoopt.report.plan_network import topology_of_plan as topology_of_plan
    from topoopt.report.plan_traffic import heatmap as heatmap
    from topoopt.report.screen import figure as figure
    from topoopt.report.subject import make_page as make_page
    from topoopt.report.subject import read_subject as read_subject
    from topoopt.report.terminal import draw_facts as draw_facts
    from topoopt.report.terminal import draw_page as draw_page
    from topoopt.report.terminal import draw_table as draw_table
    from topoopt.report.terminal import draw_title as draw_title
    from topoopt.report.terminal import page_text as page_text
    from topoopt.report.wiring_circle import topology_chart as topology_chart
    from topoopt.report.wiring_words import wiring_words as wiring_words
    from topoopt.report.words import dollars as dollars
    from topoopt.report.words import listed as listed
    from topoopt.report.written_report import WrittenReport as WrittenReport

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
