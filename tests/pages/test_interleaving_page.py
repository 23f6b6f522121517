"""The page of jobs on a link: circles before and after rotation, to scale and in equal colors."""

import pytest

from tests.clusters.interleave.jobs import LINK_BPS, on_off, vgg16
from topoopt.clusters.interleave import CommunicationProfile, Interleaving, Phase, interleave
from topoopt.pages import page_of, page_text
from topoopt.pages.chart import PolarChart
from topoopt.pages.screen import figure


def circles(answer: Interleaving) -> tuple[PolarChart, PolarChart]:
    before, after = page_of(answer).charts
    assert isinstance(before, PolarChart)
    assert isinstance(after, PolarChart)
    return before, after


def sent(chart: PolarChart, kind: str) -> list[tuple[float, float]]:
    return [(arc.start_deg, arc.width_deg) for arc in chart.by_kind[kind]]


def test_circles_show_when_a_job_sends_and_what_is_too_much() -> None:
    before, after = circles(interleave([on_off(40, 10), on_off(60, 10)], LINK_BPS))
    assert sent(before, "40ms") == sent(after, "40ms") == [(0, 30), (120, 30), (240, 30)]
    assert sent(before, "60ms") == [(0, 30), (180, 30)]
    assert sent(after, "60ms") == [(30, 30), (210, 30)]
    assert sent(before, "excess") == [(0, 30)]
    assert sent(after, "excess") == []
    assert sent(after, "together") == [(0, 60), (120, 30), (210, 60)]
    assert before.ticks[2] == (90, "30 ms")


def test_radii_are_rates_to_one_scale() -> None:
    before, after = circles(interleave([vgg16(), vgg16()], LINK_BPS))
    [(capacity, name)] = before.circles
    assert (capacity, name) == (after.circles[0][0], "capacity, 50 Gb/s")
    carried = before.by_kind["together"][0]
    excess = before.by_kind["excess"][0]
    assert carried.outer == pytest.approx(capacity)
    assert excess.outer == pytest.approx(1)
    assert (excess.outer - excess.inner) / (carried.outer - carried.inner) == pytest.approx(40 / 50)
    assert after.by_kind["together"][0].outer < capacity


def test_a_job_has_one_color_in_both_charts_and_equal_names_are_numbered() -> None:
    drawn = [figure(chart) for chart in circles(interleave([vgg16(), vgg16()], LINK_BPS))]
    colors = [{kind["name"]: kind["color"] for kind in one["kinds"][:4]} for one in drawn]
    assert colors[0] == colors[1]
    assert list(colors[0]) == ["vgg16 #1", "vgg16 #2", "together", "excess"]
    assert len(set(colors[0].values())) == 4


def test_many_angles_are_thinned_to_what_can_be_seen() -> None:
    phases = tuple(Phase(start / 1e3, 0.0005, LINK_BPS) for start in range(0, 2000, 1))
    answer = interleave([CommunicationProfile("busy", 2.0, phases)], LINK_BPS, step_deg=0.09)
    assert answer.angles == 4000
    before, _ = circles(answer)
    assert sum(width for _, width in sent(before, "busy")) == pytest.approx(360)


def test_the_page_says_what_is_gained_and_what_is_to_be_minded() -> None:
    page = page_of(interleave([on_off(40, 10), on_off(62, 10)], LINK_BPS))
    assert page.warnings[0].startswith("rotation cannot help: score 0.9")
    assert "Warnings" in page_text(page)
    assert page.key_numbers["score"] < 1  # type: ignore[operator]
    good = page_of(interleave([vgg16(), vgg16()], LINK_BPS))
    assert (
        good.headline
        == "Rotated, the link carries everything; as they come, 35.6% of its capacity is asked for in vain."
    )
