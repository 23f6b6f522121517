"""The score: what the paper's examples have, and that it has no lower end."""

import numpy as np
import pytest

from tests.clusters.interleave.jobs import LINK_BPS, on_off
from topoopt.clusters.interleave import compatibility_score, unified_circle


def test_40_and_60_ms_unrotated_and_with_the_first_turned_by_30_degrees() -> None:
    circle = unified_circle([on_off(40, 10), on_off(60, 10)])
    turned = round(30 / 360 * circle.angles)
    assert compatibility_score(circle.rotated_bps((0, 0)), LINK_BPS) == pytest.approx(11 / 12, abs=1e-12)
    assert round(compatibility_score(circle.rotated_bps((0, 0)), LINK_BPS), 4) == 0.9167
    assert compatibility_score(circle.rotated_bps((turned, 0)), LINK_BPS) == 1.0


def test_the_score_is_never_clamped() -> None:
    assert compatibility_score(np.full(72, 4 * LINK_BPS), LINK_BPS) == pytest.approx(-2.0)


@pytest.mark.parametrize("sends_ms", [1, 50, 99])
def test_a_job_above_the_capacity_scores_less_than_1_at_every_rotation(sends_ms: float) -> None:
    circle = unified_circle([on_off(100, sends_ms, 0, 60e9)])
    scores = {compatibility_score(circle.rotated_bps((shift,)), LINK_BPS) for shift in range(72)}
    share = np.count_nonzero(circle.demands_bps) / 72
    assert list(scores) == pytest.approx([1 - share * 0.2] * len(scores))
    assert max(scores) < 1
