"""The published closed form: term by term as in the paper, for many configurations at once, and honest about gaps."""

from dataclasses import replace

import numpy as np
import pytest

from tests.transformers.shapes import PAPER_CONFIGURATION, PAPER_MODEL, SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    Apnet24,
    Configuration,
    System,
    apnet24,
    apnet24_settings,
    communications,
    configuration_table,
)
from topoopt.workloads.transformer import count_parameters

SYSTEM = System("v100", 8, 150 * 8e9, 100e9)


def test_each_term_is_the_papers() -> None:
    """(p, t, d) = (4, 2, 4), two pairs of each stage on a server of eight; everything by hand."""
    l, h, s, b, m, p, t, d = 56, 2000, 1024, 32, 8, 4, 2, 4  # noqa: E741 - the paper's letters
    n = count_parameters(PAPER_MODEL).total
    used = Apnet24(utilization=0.4, half_bandwidth_bytes=10 * 2**20)
    times = apnet24(PAPER_MODEL, configuration_table([PAPER_CONFIGURATION]), SYSTEM, used)
    message, gradients = 2 * b * s * h, 2 * n / (p * t)

    def effective(peak: float, size: float) -> float:
        return peak * size / (size + 10 * 2**20)

    compute_s = m * 8 * n / (p * t) * b * s / (0.4 * 125e12)
    tp_s = m * l / p * 6 * message * 2 * (t - 1) / t / effective(150e9, message)
    pp_s = m * 2 * message / effective(100e9 / 8, message)
    dp_s = gradients * 2 * (d - 1) / d / effective(150e9, gradients)
    bubble_s = (p - 1) * (compute_s + pp_s + tp_s) / m
    assert times.compute_s == pytest.approx(compute_s)
    assert times.model_flops * 8 == pytest.approx(times.compute_s * 0.4 * 125e12 * 6)  # 8 with recomputation
    assert times.tp_s == pytest.approx(tp_s)
    assert times.pp_s == pytest.approx(pp_s)
    assert times.dp_s == pytest.approx(dp_s)
    assert times.bubble_s == pytest.approx(bubble_s)
    assert times.iteration_time_s == pytest.approx(compute_s + tp_s + pp_s + dp_s + bubble_s)


def test_its_volumes_are_those_that_are_sent() -> None:
    """What the formula divides by C is what a first-stage rank sends, but for the embedding's one AllReduce."""
    endless = Apnet24(half_bandwidth_bytes=0.0)
    times = apnet24(PAPER_MODEL, configuration_table([PAPER_CONFIGURATION]), SYSTEM, endless)
    sent = communications(PAPER_MODEL, PAPER_CONFIGURATION)
    of_layers = [one for one in sent if one.kind == "tp" and one.stage == 0 and one.part != "embedding"]
    of_rank = sum(one.wire_bytes for one in of_layers) / 8
    assert times.tp_s == pytest.approx(of_rank / 150e9)


def test_interleaving_shortens_the_bubble_and_nothing_else() -> None:
    plain, interleaved = PAPER_CONFIGURATION, replace(PAPER_CONFIGURATION, vpp=2)
    times = apnet24(PAPER_MODEL, configuration_table([plain, interleaved]), SYSTEM)
    assert times.bubble_s[1] == pytest.approx(times.bubble_s[0] / 2)
    np.testing.assert_allclose(times.compute_s[0], times.compute_s[1])


def test_the_share_of_the_bubble_is_p_minus_1_over_p_minus_1_plus_m() -> None:
    one = replace(PAPER_CONFIGURATION, dp=1, global_batch=8 * 32)
    times = apnet24(PAPER_MODEL, configuration_table([one]), SYSTEM)
    assert times.bubble_s / times.iteration_time_s == pytest.approx(3 / (3 + 8))


def test_many_rows_are_each_row_by_itself() -> None:
    rows = [
        Configuration(
            tp=tp, pp=pp, dp=dp, global_batch=64, sequence=64, recompute=recompute, precision="fp16"
        )
        for tp in (1, 2, 8)
        for pp in (1, 4)
        for dp in (1, 4)
        for recompute in ("none", "full")
    ]
    together = apnet24(small_model(), configuration_table(rows), SYSTEM)
    apart = [apnet24(small_model(), configuration_table([row]), SYSTEM) for row in rows]
    np.testing.assert_allclose(together.iteration_time_s, [float(one.iteration_time_s[0]) for one in apart])
    assert (together.tp_s[[row.tp == 1 for row in rows]] == 0).all()
    assert (together.dp_s[[row.dp == 1 for row in rows]] == 0).all()


def test_utilization_is_the_papers_where_it_has_one() -> None:
    assert apnet24_settings("rtx3090").utilization == 0.3
    assert apnet24_settings("v100").utilization == apnet24_settings("h100").utilization == 0.4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cp": 2}, "context parallelism"),
        ({"zero": 3}, "shared out"),
        ({"ep": 2}, "expert parallelism"),
        ({"schedule": "zero-bubble"}, "schedule zero-bubble; allowed: 1f1b"),
    ],
)
def test_what_the_formula_does_not_have_is_refused(change: dict[str, object], words: str) -> None:
    table = configuration_table([replace(PAPER_CONFIGURATION, **change)])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=f"apnet24: the published formula has no term for .*{words}"):
        apnet24(PAPER_MODEL, table, SYSTEM)


def test_a_mixture_of_experts_is_refused() -> None:
    table = configuration_table([PAPER_CONFIGURATION])
    with pytest.raises(InvalidInput, match="no term for experts, and toy has them"):
        apnet24(small_model(SMALL_EXPERTS), table, SYSTEM)


@pytest.mark.parametrize(
    "change", [{"utilization": 0.0}, {"utilization": 1.2}, {"half_bandwidth_bytes": -1.0}]
)
def test_settings_are_checked(change: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="apnet24: "):
        Apnet24(**change)
