"""Results as charts, and as one HTML page that needs no network."""

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
from topoopt.report.comparison import COMPARISON_FORMAT as COMPARISON_FORMAT
from topoopt.report.comparison import Comparison as Comparison
from topoopt.report.comparison import comparison_from_mapping as comparison_from_mapping
from topoopt.report.comparison import comparison_schema as comparison_schema
from topoopt.report.html import html as html
from topoopt.report.html import write_report as write_report
from topoopt.report.page import Facts as Facts
from topoopt.report.page import Page as Page
from topoopt.report.page import Section as Section
from topoopt.report.page import Table as Table
from topoopt.report.page import Tile as Tile
from topoopt.report.paper import FORMATS as FORMATS
from topoopt.report.paper import check_formats as check_formats
from topoopt.report.paper import draw_charts as draw_charts
from topoopt.report.subject import make_page as make_page
from topoopt.report.subject import read_subject as read_subject
