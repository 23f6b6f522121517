"""Enumerated configurations are valid, and none that is valid is missing."""

from contextlib import suppress
from dataclasses import replace
from itertools import product

import pytest

from tests.transformers.shapes import PAPER_MODEL, SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    RECOMPUTATIONS,
    SCHEDULES,
    Configuration,
    Limits,
    check_configuration,
    enumerate_configurations,
    recomputation_bits,
    usual_choices,
)
from topoopt.workloads.transformer import TransformerModel, find_transformer

CASES = {
    "dense": (small_model(kv_heads=2), 16, 48, 8192),
    "experts": (small_model(SMALL_EXPERTS, layers=6), 8, 16, 64),
    "learned positions": (PAPER_MODEL, 24, 24, 1024),
    "a prime number of layers": (small_model(layers=7), 8, 24, 64),
}


def every(model: TransformerModel, accelerators: int, batch: int, sequence: int) -> set[Configuration]:
    """Return what passes the check of all combinations, within the same choices."""
    within = usual_choices(model, accelerators, 8, sequence, Limits(max_cp=2, max_micro_batch=4, max_vpp=4))
    found = set()
    for tp, pp, cp, ep, etp, vpp, micro_batch, recompute, zero, parallel in product(
        (1, 2, 4, 8),
        range(1, accelerators + 1),
        (1, 2),
        within.ep,
        within.etp,
        range(1, 5),
        (1, 2, 4),
        (0, 2),
        (0, 1),
        (0, 1),
    ):
        if accelerators % (tp * pp * cp) or tp % etp:
            continue
        one = Configuration(
            tp=tp,
            pp=pp,
            dp=accelerators // (tp * pp * cp),
            cp=cp,
            ep=ep,
            etp=etp,
            vpp=vpp,
            micro_batch=micro_batch,
            global_batch=batch,
            sequence=sequence,
            recompute=RECOMPUTATIONS[recompute],
            zero=zero,
            sequence_parallel=bool(parallel),
        )
        try:
            check_configuration(model, one, accelerators)
        except InvalidInput:
            continue
        found.add(one)
    return found


@pytest.mark.parametrize("name", CASES)
def test_nothing_valid_is_missing_and_nothing_invalid_is_there(name: str) -> None:
    model, accelerators, batch, sequence = CASES[name]
    choices = usual_choices(model, accelerators, 8, sequence, Limits(max_cp=2, max_micro_batch=4, max_vpp=4))
    table = enumerate_configurations(model, accelerators, batch, sequence, choices)
    rows = {table.row(index) for index in range(len(table))}
    assert len(rows) == len(table)
    wanted = every(model, accelerators, batch, sequence)
    assert {row for row in rows if row.zero < 2 and row.recompute != "selective"} == wanted
    assert len(wanted) > 30


@pytest.mark.parametrize("name", ["gpt3-175b", "mixtral-8x7b", "deepseek-v3"])
def test_rows_of_published_models_pass_the_check(name: str) -> None:
    model = find_transformer(name)
    choices = usual_choices(model, 512, 8, model.sequence)
    table = enumerate_configurations(model, 512, 1024, model.sequence, choices)
    assert len(table) > 4000
    for index in range(0, len(table), len(table) // 300):
        check_configuration(model, table.row(index), 512)


def test_pinned_degrees_are_kept() -> None:
    model = find_transformer("gpt3-175b")
    choices = usual_choices(model, 64, 8, 2048).pinned(tp=4, dp=2, recompute=recomputation_bits("full"))
    table = enumerate_configurations(model, 64, 64, 2048, choices)
    assert len(table) > 0
    assert set(table.tp) == {4}
    assert set(table.dp) == {2}
    assert {table.row(index).recompute for index in range(len(table))} == {"full"}


def test_zero_3_goes_with_stages_only_if_both_are_asked_for() -> None:
    model = find_transformer("gpt3-175b")
    choices = usual_choices(model, 64, 8, 2048)
    either = enumerate_configurations(model, 64, 64, 2048, choices.pinned(zero=3))
    assert set(either.pp) == {1}
    assert len(enumerate_configurations(model, 64, 64, 2048, choices.pinned(zero=3, pp=4))) > 0


def test_a_sequence_beyond_the_learned_positions_has_no_configuration() -> None:
    choices = usual_choices(PAPER_MODEL, 8, 8, 4096)
    assert len(enumerate_configurations(PAPER_MODEL, 8, 8, 4096, choices)) == 0


def test_what_is_not_searched_is_as_it_is_pinned() -> None:
    """llama3-8b has 32 heads: with Ulysses tp·cp divides them, with a ring it need not."""
    model = find_transformer("llama3-8b")
    usual = usual_choices(model, 128, 8, 2**18)
    ring, pinned = (
        enumerate_configurations(model, 128, 128, 2**18, choices)
        for choices in (usual, usual.pinned(context=1, micro_batch=1))
    )
    assert pinned.row(0).context == "ulysses"
    assert max(ring.tp * ring.cp) > 32
    assert set(pinned.tp * pinned.cp) == {1, 2, 4, 8, 16, 32}
    assert all(32 % (tp * cp) == 0 for tp, cp in zip(pinned.tp, pinned.cp, strict=True))


def test_any_schedule_is_every_schedule_that_is_valid() -> None:
    """Against the check of one configuration; DualPipe overlaps all-to-alls in any case, and is there once."""
    model = find_transformer("mixtral-8x7b")
    limits = Limits(max_tp=1, max_pp=8, max_micro_batch=1, max_vpp=2, any_schedule=True)
    choices = replace(usual_choices(model, 16, 8, 4096, limits), zero=(1,), recompute=(0,), cp=(1,), etp=(1,))
    found = enumerate_configurations(model, 16, 64, 4096, choices)
    rows = {
        (one.pp, one.vpp, one.ep, one.schedule, one.overlap_experts)
        for one in map(found.row, range(len(found)))
    }
    assert len(rows) == len(found)
    expected = set()
    for pp, vpp, ep, schedule, overlaps in product(
        (1, 2, 4, 8), (1, 2), (1, 2, 4, 8), SCHEDULES, (False, True)
    ):
        with suppress(InvalidInput):
            one = Configuration(
                tp=1, pp=pp, vpp=vpp, ep=ep, dp=16 // pp, global_batch=64, sequence=4096, zero=1, schedule=schedule,
                overlap_experts=overlaps,
            )  # fmt: skip
            check_configuration(model, one, 16)
            if not (overlaps and schedule == "dualpipe"):
                expected.add((pp, vpp, ep, schedule, overlaps))
    assert rows == expected


def test_a_schedule_that_is_given_is_kept_where_any_is_tried() -> None:
    model = find_transformer("mixtral-8x7b")
    choices = usual_choices(model, 16, 8, 4096, Limits(max_tp=1, any_schedule=True)).pinned(schedule=1)
    found = enumerate_configurations(model, 16, 64, 4096, choices)
    assert set(found.schedule.tolist()) == {1}
    assert set(found.overlap_experts.tolist()) == {0}


def test_parts_that_a_model_lacks_are_not_computed_again() -> None:
    dense = find_transformer("llama3-8b")
    for word, there in (("norms", True), ("experts", False), ("latent+norms", False), ("full", True)):
        choices = usual_choices(dense, 8, 8, 8192).pinned(recompute=recomputation_bits(word))
        assert (len(enumerate_configurations(dense, 8, 8, 8192, choices)) > 0) == there
