"""What software does one by one or whole takes as long in simulations as in estimates."""

from itertools import product

import pytest

from topoopt.finder import FabricRequest, build_fabric
from topoopt.simulation import pipeline_task_graph, pipelined_time
from topoopt.transformers import (
    FRAMEWORKS,
    UNFUSED_PARTS,
    Configuration,
    System,
    configuration_table,
    estimate,
    find_calibration,
    make_pipelined_step,
)
from topoopt.workloads.transformer import find_transformer

MODEL, SYSTEM = find_transformer("llama2-7b"), System("a100-80gb", 8, 2.4e12, 400e9)
LAW = find_calibration("a100-80gb").with_one_attention()
WORDS = ("none", *UNFUSED_PARTS, FRAMEWORKS["scaling"].unfused)


def times(word: str, split: bool, vpp: int) -> tuple[float, float]:
    """Return the seconds of an iteration, as estimated and as simulated on one switch."""
    one = Configuration(
        tp=4, pp=2, dp=4, vpp=vpp, global_batch=64, sequence=4096, zero=1, sequence_parallel=split
    )
    law = LAW.with_unfused(word)
    step = make_pipelined_step(MODEL, one, SYSTEM, law)
    fabric = build_fabric(
        "ideal-switch", FabricRequest(step.servers, 8, 400e9, pipeline_task_graph(step).groups)
    )
    estimated = estimate(MODEL, configuration_table([one]), SYSTEM, law).iteration_time_s[0]
    return float(estimated), pipelined_time(step, fabric).iteration_time_s


@pytest.mark.parametrize(("word", "split", "vpp"), list(product(WORDS, (True, False), (1, 4))))
def test_estimates_and_simulations_agree(word: str, split: bool, vpp: int) -> None:
    estimated, simulated = times(word, split, vpp)
    assert simulated == pytest.approx(estimated, rel=1e-2)


@pytest.mark.parametrize(
    ("word", "split", "vpp"), [("sends", False, 1), ("hops", True, 4), ("step", True, 1)]
)
def test_each_moves_both(word: str, split: bool, vpp: int) -> None:
    usual, apart = times("none", split, vpp), times(word, split, vpp)
    assert apart[0] > usual[0]
    assert apart[1] > usual[1]
