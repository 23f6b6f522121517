"""Bubbles against the published formulas where stages are equal and transfers free, and played where they are not."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.simulation import compute_and_bubble
from topoopt.transformers import Configuration, configuration_table
from topoopt.transformers.step_time.pipeline_bubble import (
    StagePasses,
    hidden_transfers,
    paired_share,
    split_bubble_s,
)
from topoopt.workloads.pipelined_step import Chunk, PipelinedStep

FORWARD, BACKWARD, WEIGHTS, PAIRED = 1.0, 2.0, 0.9, 2.8
PP = 8
ONE = Configuration(tp=1, pp=PP, dp=1, global_batch=32, sequence=64)


def idle(schedule: str, more_s: float = 0.0, paired_s: float = FORWARD + BACKWARD) -> float:
    """Of equal stages; or of one that has ``more_s`` to do in F, in B for inputs and in W, and so has its partner."""
    others = (PP - 1) * np.array([FORWARD + BACKWARD, paired_s, BACKWARD, WEIGHTS])
    if schedule == "dualpipe":
        others = others + more_s * np.array([3, 3, 2, 1])
    columns = (paired_s + 3 * more_s, WEIGHTS + more_s, *others)
    passes = StagePasses(*(np.array([value]) for value in columns))
    usual_s = (PP - 1) * (FORWARD + BACKWARD)
    table = configuration_table([replace(ONE, schedule=schedule)])
    return float(split_bubble_s(table, passes, np.zeros(1), np.array([usual_s]))[0])


def test_bubbles_are_those_of_the_papers() -> None:
    """DeepSeek-V3, Table 2; ZB-H1 of Qi 2023 is its ZB1P."""
    assert idle("1f1b") == pytest.approx((PP - 1) * (FORWARD + BACKWARD))
    assert idle("zero-bubble") == pytest.approx((PP - 1) * (FORWARD + BACKWARD - 2 * WEIGHTS))
    assert idle("dualpipe", paired_s=PAIRED) == pytest.approx(
        (PP / 2 - 1) * (PAIRED + BACKWARD - 3 * WEIGHTS)
    )


@pytest.mark.parametrize("more_s", [0.0, 0.05, 0.1, 0.2, 0.4, 0.8])
@pytest.mark.parametrize(("schedule", "tolerance"), [("zero-bubble", 1e-9), ("dualpipe", 0.06)])
def test_a_stage_that_has_more_to_do_is_idle_for_less_as_played(
    schedule: str, tolerance: float, more_s: float
) -> None:
    """Zero-bubble exactly; DualPipe, whose formula is above what its code does, within a part of the even bubble."""
    ends = 2 if schedule == "dualpipe" else 1
    light = Chunk(FORWARD, BACKWARD, weights_s=WEIGHTS)
    heavy = Chunk(FORWARD + more_s, BACKWARD + 2 * more_s, weights_s=WEIGHTS + more_s)
    way = (*(light,) * (PP - 1), heavy)
    place = np.arange(PP).reshape(PP, 1, 1)
    played_s = compute_and_bubble(PipelinedStep(PP, 32 // ends, way * ends, place, schedule=schedule))[1]
    # Half of the micro-batches go through the heavy chunk of a rank of DualPipe.
    assert idle(schedule, more_s / ends) == pytest.approx(played_s, abs=tolerance * idle(schedule) + 1e-9)


def test_no_bubble_is_shorter_than_none() -> None:
    passes = StagePasses(*(np.array([value]) for value in (3.0, 2.0, 21.0, 21.0, 14.0, 14.0)))
    for word, forward_s in (("zero-bubble", 7.0), ("dualpipe", 0.0)):
        table = configuration_table([replace(ONE, schedule=word)])
        assert split_bubble_s(table, passes, np.zeros(1), np.zeros(1))[0] == forward_s


def test_transfers_hide_where_the_schedule_gives_them_time() -> None:
    rows = [replace(ONE, schedule=word) for word in ("1f1b", "zero-bubble", "dualpipe")]
    assert hidden_transfers(configuration_table(rows)).tolist() == pytest.approx([0, 1, 1 - 9.5 / 32])
    assert not hidden_transfers(configuration_table(rows[:1])).any()


def test_passes_have_one_beside_them_but_while_the_pipeline_fills() -> None:
    """Ranks 0 to 3 of DualPipe on 8 stages have 11, 10, 9 and 8 forward passes alone, 9.5 of 32 on average."""
    whole = replace(ONE, pp=1, global_batch=4)
    table = configuration_table([whole, replace(ONE, vpp=2), replace(ONE, schedule="dualpipe")])
    interleaved = 1 - ((PP - 1) + PP + 1) / 2 / 32
    assert paired_share(table).tolist() == pytest.approx([3 / 4, interleaved, 1 - 9.5 / 32])
