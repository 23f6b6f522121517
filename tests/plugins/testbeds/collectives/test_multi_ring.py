"""``multi_ring_all_reduce`` gives what a sum gives, of all kinds of numbers, in any size and order."""

from typing import Any

import pytest

from topoopt.plugins.testbeds.training.ranks import Ranks

PROGRAMS = "tests.plugins.testbeds.collectives.member_programs"
EXACT = ("int64", "int32", "int16", "uint8", "bool")
ROUNDED = {"float64": 1e-14, "float32": 1e-6, "bfloat16": 0.03, "float16": 4e-3, "complex64": 1e-6}
"""Kinds of numbers, and half a dozen units in the last place of the largest of five sums."""


@pytest.mark.parametrize("passing", ["pieces", "rounds"])
@pytest.mark.parametrize("dtype", [*EXACT, *ROUNDED])
def test_all_kinds_of_numbers_in_all_sizes(ranks: Ranks, dtype: str, passing: str) -> None:
    for count, strides, pieces in (
        (0, (1,), 1),
        (1, (1, 4), 2),
        (13, (1, 2, 3, 4), 3),
        (1_000_011, (2, 3), 2),
    ):
        words: dict[str, Any] = {
            "dtype": dtype,
            "count": count,
            "strides": strides,
            "passing": passing,
            "pieces": pieces,
        }
        errors = ranks.run(f"{PROGRAMS}:difference_from_sum", 30.0, **words)
        assert max(errors) <= ROUNDED.get(dtype, 0.0), (count, strides)


def test_every_rank_has_the_same_bits(ranks: Ranks) -> None:
    assert len(set(ranks.run(f"{PROGRAMS}:bits_of_sum", 30.0, count=4099))) == 1


def test_some_of_the_ranks_can_reduce_among_themselves(ranks: Ranks) -> None:
    members = (4, 0, 3)
    answers = ranks.run(f"{PROGRAMS}:sum_of_some", 30.0, members=members)
    assert [answers[rank] for rank in members] == [[10]] * 3
    assert answers[1] == "rings: rank 1 is not among [0, 3, 4]"


def test_several_at_once_do_not_mix(ranks: Ranks) -> None:
    answers = ranks.run(f"{PROGRAMS}:sums_at_once", 30.0, buffers=7)
    assert answers == [[[10 + 5 * number] for number in range(7)]] * 5


def test_reduce_scatter_and_all_gather_are_its_halves(ranks: Ranks) -> None:
    assert ranks.run(f"{PROGRAMS}:halves", 30.0) == [True] * 5


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("average", "average: expected floating or complex numbers, got torch.int64"),
        ("pieces", "pieces: expected an integer >= 1, got 0"),
        ("passing", "passing"),
        ("collective", "collective"),
        ("outputs", "outputs: expected a tensor for each of 5 ranks, got 0"),
        ("strided", "outputs: expected contiguous tensors"),
    ],
)
def test_what_cannot_be_is_refused(ranks: Ranks, what: str, said: str) -> None:
    assert all(answer.startswith(said) for answer in ranks.run(f"{PROGRAMS}:refusal", 30.0, what=what))
