"""Bubbles against the published formulas, where stages are equal and transfers free."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.llm import Configuration, configuration_table
from topoopt.llm.step_time.schedules import StagePasses, bubble_s, paired_share

FORWARD, BACKWARD, WEIGHTS, PAIRED = 1.0, 2.0, 0.9, 2.8
PP = 8
ONE = Configuration(tp=1, pp=PP, dp=1, global_batch=32, sequence=64)


def idle(one: Configuration) -> float:
    columns = (FORWARD + BACKWARD, PAIRED, BACKWARD, WEIGHTS, (PP - 1) * (FORWARD + BACKWARD))
    passes = StagePasses(*(np.array([value]) for value in columns))
    return float(bubble_s(configuration_table([one]), passes, np.zeros(1))[0])


def test_bubbles_are_those_of_the_papers() -> None:
    """DeepSeek-V3, Table 2; ZB-H1 of Qi 2023 is its ZB1P."""
    assert idle(ONE) == pytest.approx((PP - 1) * (FORWARD + BACKWARD))
    assert idle(replace(ONE, vpp=2)) == pytest.approx((PP - 1) * (FORWARD + BACKWARD) / 2)
    zero = idle(replace(ONE, schedule="zero-bubble"))
    assert zero == pytest.approx((PP - 1) * (FORWARD + BACKWARD - 2 * WEIGHTS))
    dual = idle(replace(ONE, schedule="dualpipe"))
    assert dual == pytest.approx((PP / 2 - 1) * (PAIRED + BACKWARD - 3 * WEIGHTS))


def test_no_bubble_is_shorter_than_none() -> None:
    passes = StagePasses(*(np.array([value]) for value in (3.0, 3.0, 2.0, 2.0, 21.0)))
    for word in ("zero-bubble", "dualpipe"):
        table = configuration_table([replace(ONE, schedule=word)])
        assert bubble_s(table, passes, np.zeros(1))[0] == 0


def test_passes_have_one_beside_them_but_while_the_pipeline_fills() -> None:
    """Ranks 0 to 3 of DualPipe on 8 stages have 11, 10, 9 and 8 forward passes alone, 9.5 of 32 on average."""
    whole = replace(ONE, pp=1, global_batch=4)
    table = configuration_table([whole, replace(ONE, vpp=2), replace(ONE, schedule="dualpipe")])
    interleaved = 1 - ((PP - 1) + PP + 1) / 2 / 32
    assert paired_share(table).tolist() == pytest.approx([3 / 4, interleaved, 1 - 9.5 / 32])
