"""Results as charts, and as one HTML page that needs no network."""

from topoopt.report.chart import Bar as Bar
from topoopt.report.chart import BarChart as BarChart
from topoopt.report.chart import Chart as Chart
from topoopt.report.chart import CircleChart as CircleChart
from topoopt.report.chart import HeatmapChart as HeatmapChart
from topoopt.report.chart import LineChart as LineChart
from topoopt.report.chart import RingLine as RingLine
from topoopt.report.chart import Series as Series
from topoopt.report.chart import TimelineChart as TimelineChart
from topoopt.report.paper import FORMATS as FORMATS
from topoopt.report.paper import draw_charts as draw_charts
