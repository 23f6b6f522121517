"""Results as charts, and as one HTML page that needs no network."""

from topoopt.report.chart import BarChart as BarChart
from topoopt.report.chart import Chart as Chart
from topoopt.report.chart import HeatmapChart as HeatmapChart
from topoopt.report.chart import LineChart as LineChart
from topoopt.report.chart import Series as Series
