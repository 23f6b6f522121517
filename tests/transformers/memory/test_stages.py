"""What stages hold is what the order of their passes leaves in flight."""

from dataclasses import replace

import numpy as np
import pytest

from tests.transformers.shapes import SMALL_EXPERTS, small_model
from topoopt.transformers import Configuration, configuration_table, memory
from topoopt.transformers.memory.accelerator import common_of, stage_memory
from topoopt.transformers.memory.pipeline_stages import count_in_flight, stage_of
from topoopt.workloads.pipelined_step import ORDERS
from topoopt.workloads.transformer import Experts

FORWARD, BACKWARD, WEIGHTS = range(3)


def most_in_flight(one: Configuration, stage: int, chunk: int | None = None) -> int:
    """Passes through the chunks of a stage, or through one, from forward to the last that needs what is kept."""
    order = ORDERS[one.schedule].of_stage(stage, one.pp, one.vpp * one.ends, one.chunk_batches)
    released = WEIGHTS if ORDERS[one.schedule].splits else BACKWARD
    change = (order.direction == FORWARD) * 1 - (order.direction == released) * 1
    if chunk is not None:
        change = np.where(order.chunk == chunk, change, 0)
    return int(np.cumsum(change).max())


@pytest.mark.parametrize("batches", [16, 24])
@pytest.mark.parametrize(("schedule", "vpp"), [("1f1b", 1), ("1f1b", 3), ("zero-bubble", 1), ("dualpipe", 1)])
@pytest.mark.parametrize("pp", [2, 4, 8])
def test_every_stage_holds_what_its_order_leaves_in_flight(
    pp: int, schedule: str, vpp: int, batches: int
) -> None:
    one = Configuration(tp=1, pp=pp, dp=1, vpp=vpp, global_batch=batches, sequence=64, schedule=schedule)
    table = configuration_table([one])
    for stage in range(pp):
        held = count_in_flight(table, np.array([stage]))[0]
        assert held * vpp == most_in_flight(one, stage)


def test_fewer_micro_batches_than_stages_are_all_that_is_held() -> None:
    for schedule in ("1f1b", "zero-bubble"):
        one = Configuration(tp=1, pp=8, dp=1, global_batch=3, sequence=64, schedule=schedule)
        held = [count_in_flight(configuration_table([one]), np.array([stage]))[0] for stage in range(8)]
        assert held == [most_in_flight(one, stage) for stage in range(8)]


def test_layers_of_both_directions_of_dualpipe_are_held_as_often_as_the_order_says() -> None:
    """Of the stage that is nearer to the entrance p - i micro-batches, of its mirror image i + 1."""
    model = small_model(layers=8)
    one = Configuration(tp=1, pp=4, dp=1, global_batch=16, sequence=64, schedule="dualpipe")
    for stage in range(4):
        kept = stage_of(model, configuration_table([one]), np.array([stage])).kept_layers[0]
        both = [most_in_flight(one, stage, chunk) for chunk in (stage, 7 - stage)]
        assert kept == 2 * sum(both)


@pytest.mark.parametrize("framework", ["megatron", "deepspeed", "llama3", "scaling"])
@pytest.mark.parametrize("layers", [6, 8, 11, 14])
@pytest.mark.parametrize("experts", [None, replace(SMALL_EXPERTS, every=1), SMALL_EXPERTS])
def test_the_fullest_stage_is_found_among_all(framework: str, layers: int, experts: Experts | None) -> None:
    """With fewer layers on the first stage, in 16 chunks of 14, the second is the fullest."""
    model = small_model(experts, layers=layers)
    jobs = [
        Configuration(
            tp=1,
            pp=pp,
            dp=2,
            vpp=vpp,
            global_batch=64,
            sequence=256,
            zero=1,
            schedule=schedule,
            recompute=recompute,
        )
        for pp in (1, 2, 4, 8)
        for vpp in (1, 2, 4)
        for schedule in ORDERS
        for recompute in ("none", "full")
        if pp > 1 or (vpp, schedule) == (1, "1f1b")
        if pp * vpp <= layers + 2 and (vpp == 1 or schedule == "1f1b")
    ]
    found = memory(model, configuration_table(jobs), "h100", "fused", framework)
    for row, one in enumerate(jobs):
        common = common_of(model, configuration_table([one]), "h100", "fused", framework)
        stages = [stage_memory(common, np.array([stage])).total[0] for stage in range(one.pp)]
        assert found.total[row] == pytest.approx(max(stages))
