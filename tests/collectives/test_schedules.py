"""Every schedule proves its postcondition chunk by chunk, on sets of contributions."""

from collections.abc import Callable

import pytest

from topoopt.collectives import (
    SCHEDULES,
    Schedule,
    closed_form_time_s,
    double_binary_tree,
    hierarchical,
    hierarchical_time_s,
    make_schedule,
    multi_ring,
    parameter_server,
    schedule_time_s,
    two_trees,
)
from topoopt.errors import InvalidInput

SIZES = [2, 3, 4, 5, 6, 7, 8, 12, 13, 16]
Holdings = list[dict[int, frozenset[int]]]  # per rank: chunk -> the ranks whose contribution it holds


def run(schedule: Schedule) -> Holdings:
    state = start(schedule)
    for step in schedule.steps:
        before = [dict(chunks) for chunks in state]
        for send in step:
            carried = before[send.src].get(send.chunk, frozenset())
            assert carried, f"rank {send.src} sends chunk {send.chunk} that it does not have"
            if send.reduce:
                held = state[send.dst].get(send.chunk, frozenset())
                assert not held & carried, f"chunk {send.chunk} is added twice at rank {send.dst}"
                state[send.dst][send.chunk] = held | carried
            else:
                state[send.dst][send.chunk] = carried
    return state


def start(schedule: Schedule) -> Holdings:
    n, chunks = schedule.ranks, schedule.chunks
    if schedule.collective == "all-gather":
        return [{r: frozenset({r})} for r in range(n)]
    if schedule.collective == "all-to-all":
        return [{r * n + d: frozenset({r}) for d in range(n)} for r in range(n)]
    return [{c: frozenset({r}) for c in range(chunks)} for r in range(n)]


def check_goal(schedule: Schedule) -> None:
    n, state, everyone = schedule.ranks, run(schedule), frozenset(range(schedule.ranks))
    if schedule.collective == "allreduce":
        assert all(state[r][c] == everyone for r in range(n) for c in range(schedule.chunks))
    elif schedule.collective == "reduce-scatter":
        assert all(state[r][r] == everyone for r in range(n))
    elif schedule.collective == "all-gather":
        assert all(state[r][c] == {c} for r in range(n) for c in range(n))
    else:
        assert all(state[d][s * n + d] == {s} for s in range(n) for d in range(n))


@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule_reaches_its_postcondition(name: str, ranks: int) -> None:
    check_goal(make_schedule(name, ranks))


@pytest.mark.parametrize(
    "make",
    [
        lambda: multi_ring(12, (1, 5, 7, 11)),
        lambda: double_binary_tree(16, chunks_per_tree=5),
        lambda: double_binary_tree(11, chunks_per_tree=3),
        lambda: hierarchical(12, 4),
        lambda: hierarchical(12, 12),
        lambda: parameter_server(6, holders=6),
    ],
)
def test_schedule_with_options_reaches_its_postcondition(make: Callable[[], Schedule]) -> None:
    check_goal(make())


def test_the_executor_notices_a_missing_step() -> None:
    whole = make_schedule("ring", 5)
    broken = Schedule(whole.name, whole.collective, 5, 5, whole.steps[:-1])
    with pytest.raises(AssertionError):
        check_goal(broken)


@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
@pytest.mark.parametrize(
    "name", ["ring", "reduce-scatter", "all-gather", "halving-doubling", "all-to-all", "parameter-server"]
)
def test_schedule_costs_what_the_closed_form_says(name: str, ranks: int) -> None:
    schedule = make_schedule(name, ranks)
    assert schedule_time_s(schedule, 1e9, 1e-6, 100e9) == pytest.approx(
        closed_form_time_s(name, ranks, 1e9, 1e-6, 100e9), rel=1e-12
    )


def test_hierarchical_schedule_costs_what_the_closed_form_says() -> None:
    level = (1e-6, 100e9)
    expected = hierarchical_time_s(4, 3, 1e9, level, level)
    assert schedule_time_s(hierarchical(12, 4), 1e9, *level) == pytest.approx(expected, rel=1e-12)


def test_ranks_forward_in_at_most_one_of_the_two_trees() -> None:
    for ranks in range(2, 65, 2):
        first, second = two_trees(ranks)
        # a root with one child is inner in name only; what costs bandwidth is two children
        inner = [{p for p in tree if tree.count(p) == 2} - {-1} for tree in (first, second)]
        assert not inner[0] & inner[1]


def test_trees_have_logarithmic_depth() -> None:
    assert len(make_schedule("double-binary-tree", 128).steps) <= 2 * 8


def test_pipelined_double_tree_approaches_two_buffers_per_link() -> None:
    many = schedule_time_s(double_binary_tree(8, chunks_per_tree=200), 1e9, 0.0, 8e9)
    assert many == pytest.approx(closed_form_time_s("double-binary-tree", 8, 1e9, 0.0, 8e9), rel=0.05)


def test_mistakes_are_one_line_errors() -> None:
    with pytest.raises(InvalidInput, match='unknown name "rign"; did you mean ring'):
        make_schedule("rign", 4)
    with pytest.raises(InvalidInput, match="ranks must be >= 2, got 1"):
        make_schedule("ring", 1)
    with pytest.raises(InvalidInput, match="stride 4 does not visit all 12"):
        multi_ring(12, (4,))
    with pytest.raises(InvalidInput, match="group 5 does not divide 12"):
        hierarchical(12, 5)
