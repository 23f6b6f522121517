"""What waits for gradients of weights that are made later cannot be given up, recomputed or not."""

import numpy as np
import pytest

from topoopt.transformers import Configuration, configuration_table, memory
from topoopt.workloads.pipelined_step import ORDERS
from topoopt.workloads.transformer import find_transformer

MODEL = find_transformer("llama3-70b")
PP = 8


def configured(schedule: str, recompute: str) -> Configuration:
    return Configuration(
        tp=8,
        pp=PP,
        dp=1,
        global_batch=32,
        sequence=8192,
        sequence_parallel=True,
        schedule=schedule,
        recompute=recompute,
    )


def activations(schedule: str, recompute: str) -> float:
    """Of the fullest accelerator, GiB."""
    found = memory(MODEL, configuration_table([configured(schedule, recompute)]), "h100")
    return float(found.activations[0]) / 2**30


def test_recomputation_saves_the_last_stage_of_a_zero_bubble_pipeline_nothing() -> None:
    assert activations("zero-bubble", "full") == pytest.approx(activations("zero-bubble", "none"), rel=0.02)
    assert activations("1f1b", "full") < 0.1 * activations("1f1b", "none")


def test_the_middle_of_dualpipe_has_half_of_the_stages_micro_batches_waiting_at_the_end() -> None:
    """Four of eight stages' micro-batches wait on a middle rank, of one of its stages; nine are held without it."""
    assert activations("dualpipe", "full") == pytest.approx(activations("dualpipe", "none") * 4 / 9, rel=0.1)


@pytest.mark.parametrize("schedule", ["zero-bubble", "dualpipe"])
def test_so_many_wait_as_the_order_of_passes_says(schedule: str) -> None:
    """Between backward pass and gradients of weights; DualPipe's middle rank has four at the end."""
    one = configured(schedule, "none")
    waiting = []
    for stage in range(PP):
        order = ORDERS[schedule].of_stage(stage, PP, one.ends, one.chunk_batches)
        alone = order.begin == order.end
        change = alone * ((order.direction == 1) * 1 - (order.direction == 2) * 1)
        waiting.append(int(np.cumsum(change).max()))
    expected = [stage + 1 for stage in range(PP)]
    assert waiting == (expected if schedule == "zero-bubble" else [1, 2, 3, 4, 4, 3, 2, 1])
