"""What stages send: closed form, traffic of ranks and the pipelined step of the simulators have the same bytes."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transformers.shapes import PAPER_CONFIGURATION, PAPER_MODEL, small_model
from topoopt.transformers import (
    Configuration,
    System,
    communications,
    configuration_table,
    find_calibration,
    make_pipelined_step,
)
from topoopt.transformers.communication.rank_traffic import rank_matrix
from topoopt.transformers.step_time.case import case_of
from topoopt.transformers.step_time.closed_form import sent_bytes

SYSTEM = System("h100", 8, 3.6e12, 400e9)
LAW = find_calibration("h100")


@st.composite
def stages(draw: st.DrawFn) -> Configuration:
    one_of = st.sampled_from
    tp, pp, cp, dp = (draw(one_of(sizes)) for sizes in ((1, 2, 4), (2, 4), (1, 2), (1, 2)))
    vpp = draw(one_of((1, 2)))
    schedule = draw(one_of(("1f1b", "zero-bubble", "dualpipe"))) if vpp == 1 else "1f1b"
    micro_batch = draw(one_of((1, 2)))
    return Configuration(
        tp=tp,
        pp=pp,
        dp=dp,
        cp=cp,
        vpp=vpp,
        schedule=schedule,
        micro_batch=micro_batch,
        global_batch=2 * pp * dp * micro_batch,
        sequence=64,
        sequence_parallel=tp > 1 and draw(st.booleans()),
        precision=draw(one_of(("bf16", "fp16", "fp8", "fp4", "fp32"))),
    )


def closed_bytes(one: Configuration, unfused: str) -> float:
    """Return what all ranks send: both ways at every boundary of chunks, for every micro-batch."""
    case = case_of(small_model(), configuration_table([one]), SYSTEM, replace(LAW, unfused=unfused))
    boundaries = 2 * (one.pp * one.vpp - 1)
    return float(sent_bytes(case)[0] * case.batches[0]) * boundaries * one.dp * one.tp * one.cp


def traffic_bytes(one: Configuration, unfused: str) -> float:
    """Return the same from the matrix of ranks."""
    sent = [each for each in communications(small_model(), one, unfused=unfused) if each.kind == "pp"]
    return float(rank_matrix(sent, one.accelerators).sum())


@settings(max_examples=80)
@given(stages(), st.sampled_from(("none", "sends", "gate+sends", "all")))
def test_times_and_traffic_have_the_same_bytes(one: Configuration, unfused: str) -> None:
    assert closed_bytes(one, unfused) == traffic_bytes(one, unfused)


@settings(max_examples=25)
@given(stages(), st.sampled_from(("none", "sends")))
def test_so_has_what_is_simulated(one: Configuration, unfused: str) -> None:
    step = make_pipelined_step(small_model(), one, SYSTEM, replace(LAW, unfused=unfused))
    parts = step.part_servers.shape[2]
    forward = sum(chunk.output_bytes for chunk in step.chunks) * parts * one.dp * step.micro_batches
    assert 2 * forward == traffic_bytes(one, unfused)


@pytest.mark.parametrize(("parallel", "unfused", "share"), [(0, "none", 8), (0, "sends", 1), (1, "sends", 8)])
def test_slices_unless_they_are_sent_whole(parallel: int, unfused: str, share: int) -> None:
    one = Configuration(
        tp=8, pp=2, dp=1, global_batch=4, sequence=64, sequence_parallel=bool(parallel), precision="bf16"
    )
    [size] = {
        each.message_bytes
        for each in communications(small_model(), one, unfused=unfused)
        if each.kind == "pp"
    }
    assert size == 2 * 64 * 64 // share


def test_the_published_formula_sends_what_was_counted() -> None:
    """T_PP = m·2·(2bsh)/C of APNet'24 has the 125 MiB of its figure; slices would be half of that."""
    whole, slices = (
        {
            each.message_bytes
            for each in communications(PAPER_MODEL, PAPER_CONFIGURATION, unfused=word)
            if each.kind == "pp"
        }
        for word in ("sends", "none")
    )
    one = PAPER_CONFIGURATION
    assert whole == {2 * one.micro_batch * one.sequence * PAPER_MODEL.hidden} == {125 * 2**20}
    assert slices == {125 * 2**19}
