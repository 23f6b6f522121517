"""What matplotlib draws of a polar chart."""

import math
from typing import Any

import numpy as np

from topoopt.pages.polar_chart import PolarChart
from topoopt.pages.style import DASHES, styles_of


def draw_polar(axes: Any, chart: PolarChart) -> None:
    """Draw arcs and circles on polar axes, 0 degrees on top and clockwise."""
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    for (kind, arcs), look in zip(chart.by_kind.items(), styles_of(list(chart.by_kind)), strict=True):
        axes.bar(
            [math.radians(arc.start_deg + arc.width_deg / 2) for arc in arcs],
            [arc.outer - arc.inner for arc in arcs],
            [math.radians(arc.width_deg) for arc in arcs],
            [arc.inner for arc in arcs],
            label=kind,
            facecolor=look.color,
            linewidth=0,
        )
    around = np.linspace(0, math.tau, 181)
    for radius, name in chart.circles:
        axes.plot(
            around,
            np.full(len(around), radius),
            color="#222222",
            linewidth=0.9,
            linestyle=DASHES["dash"],
            label=name,
        )
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.set_xticks([math.radians(degrees) for degrees, _ in chart.ticks], [text for _, text in chart.ticks])
