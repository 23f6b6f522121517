"""The rollout of a replica: the sum over tokens where all fit, never more keys and values than there is room."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import Infeasible
from topoopt.inference import StepTable
from topoopt.reinforcement.job import ResponseLengths, lognormal_lengths
from topoopt.reinforcement.rollout import Replica, play_rollout, steady_rate

TOKENS = np.array([1, 8, 64, 1024, 8192])
TABLE = StepTable(TOKENS, 0.01 + 1e-5 * TOKENS, 0.02 + 2e-5 * TOKENS, 1e-4 + 0.0 * TOKENS, 1e-8, 1e-12)


def lengths_of(*tokens: int) -> ResponseLengths:
    return ResponseLengths(np.sort(np.array(tokens, np.int64))[::-1])


answers = st.lists(st.integers(1, 60), min_size=1, max_size=30)


@given(answers)
def test_where_all_fit_the_time_is_the_sum_over_tokens(tokens: list[int]) -> None:
    played = play_rollout(Replica(TABLE, 1e9, 1000), lengths_of(*tokens), 10, 1)
    seconds = 0.0
    for written in range(max(tokens)):
        alive = sum(one > written for one in tokens)
        seconds += TABLE.decode_s(alive, alive * (10 + written))
    assert played.time_s - played.prompts_s == pytest.approx(seconds)
    assert played.steps == max(tokens)
    assert played.left[0] == len(tokens)


@settings(max_examples=40)
@given(answers, st.integers(90, 400), st.integers(1, 8), st.integers(1, 20))
def test_room_is_never_exceeded_and_every_answer_ends(
    tokens: list[int], room: int, group: int, batch: int
) -> None:
    replica = Replica(TABLE, float(room), batch, page_tokens=4)
    played = play_rollout(replica, lengths_of(*tokens), 10, group)
    assert played.most_cached_tokens <= room
    assert played.largest_batch <= batch
    assert played.tokens == sum(tokens)
    assert played.steps >= max(tokens)
    assert (np.diff(played.elapsed_s) >= 0).all()  # an answer is put back before another step
    assert (np.diff(played.left) <= 0).all()


@given(answers, st.integers(2, 20))
def test_prompts_that_are_shared_leave_no_less_room(tokens: list[int], group: int) -> None:
    own, shared = (
        play_rollout(Replica(TABLE, 1e9, 1000), lengths_of(*tokens), 50, one).most_cached_tokens
        for one in (1, group)
    )
    assert shared <= own


def test_the_longest_answer_bounds_a_rollout_of_few() -> None:
    alone = play_rollout(Replica(TABLE, 1e9, 64), lengths_of(60), 10, 1)
    with_others = play_rollout(Replica(TABLE, 1e9, 64), lengths_of(60, *[5] * 7), 10, 1)
    assert with_others.steps == alone.steps
    assert with_others.tail_share > 0.5 > alone.tail_share


def test_an_answer_that_never_fits_is_one_line() -> None:
    with pytest.raises(Infeasible, match="one answer of 60 tokens do not fit"):
        play_rollout(Replica(TABLE, 50.0, 64), lengths_of(60), 10, 1)
    with pytest.raises(Infeasible, match="one answer do not fit"):
        steady_rate(Replica(TABLE, 5.0, 64), lengths_of(60), 10, 1)


def test_a_steady_replica_writes_what_a_long_rollout_writes_on_average() -> None:
    lengths = lognormal_lengths(20_000, 40, 120, 0.5)
    quick = replace(
        TABLE, prefill_base_s=0 * TABLE.base_s
    )  # where many end in a step, prompts are read together
    replica = Replica(quick, 1e9, 64)
    rate, batch = steady_rate(replica, lengths, 10, 1)
    played = play_rollout(replica, lengths, 10, 1)
    assert batch == 64
    assert lengths.tokens.sum() / played.time_s == pytest.approx(rate, rel=0.05)


def test_stages_each_have_a_part_of_the_batch() -> None:
    staged = StepTable(
        TOKENS,
        TABLE.base_s,
        TABLE.prefill_base_s,
        TABLE.head_s,
        TABLE.decode_s_per_token,
        TABLE.prefill_s_per_pair,
        2,
    )
    one = play_rollout(Replica(TABLE, 1e9, 64), lengths_of(*[50] * 32), 10, 1)
    two = play_rollout(Replica(staged, 1e9, 64), lengths_of(*[50] * 64), 10, 1)
    assert two.time_s - two.prompts_s == pytest.approx(one.time_s - one.prompts_s)
