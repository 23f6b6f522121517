"""Every schedule proves its postcondition chunk by chunk, on sets of contributions."""

from pathlib import Path

import pytest

from tests.collectives.closed_forms import closed_form_time_s, hierarchical_time_s, schedule_time_s
from topoopt import collectives
from topoopt.base.errors import InvalidInput
from topoopt.collectives import ALGORITHMS, ON_WIRINGS, MakeSchedule, Schedule
from topoopt.collectives.algorithms.ring import all_gather, reduce_scatter
from topoopt.collectives.algorithms.tree import double_binary_tree, two_trees
from topoopt.jobs import JobSettings
from topoopt.simulation import collective_options

SIZES = [2, 3, 4, 5, 6, 7, 8, 12, 13, 16]
SCHEDULES = {name: row.schedules[0] for name, row in ALGORITHMS.items()}
EVERY = [make for row in ALGORITHMS.values() for make in row.schedules] + [reduce_scatter, all_gather]
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
        return [{c: frozenset({r}) for c in shard(schedule, r)} for r in range(n)]
    if schedule.collective == "all-to-all":
        return [{r * n + d: frozenset({r}) for d in range(n)} for r in range(n)]
    return [{c: frozenset({r}) for c in range(chunks)} for r in range(n)]


def shard(schedule: Schedule, rank: int) -> range:
    """The chunks that are a rank's own."""
    parts = schedule.chunks // schedule.ranks
    return range(rank * parts, (rank + 1) * parts)


def check_goal(schedule: Schedule) -> None:
    n, state, everyone = schedule.ranks, run(schedule), frozenset(range(schedule.ranks))
    if schedule.collective == "allreduce":
        assert all(state[r][c] == everyone for r in range(n) for c in range(schedule.chunks))
    elif schedule.collective == "reduce-scatter":
        assert all(state[r][c] == everyone for r in range(n) for c in shard(schedule, r))
    elif schedule.collective == "all-gather":
        assert all(state[r][c] == {o} for r in range(n) for o in range(n) for c in shard(schedule, o))
    else:
        assert all(state[d][s * n + d] == {s} for s in range(n) for d in range(n))


@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("make", EVERY)
def test_schedule_reaches_its_postcondition(make: MakeSchedule, ranks: int) -> None:
    check_goal(make(ranks))


@pytest.mark.parametrize(("ranks", "chunks"), [(16, 5), (11, 3)])
def test_pipelined_trees_reach_their_postcondition(ranks: int, chunks: int) -> None:
    check_goal(double_binary_tree(ranks, chunks_per_tree=chunks))


def test_the_executor_notices_a_missing_step() -> None:
    whole = SCHEDULES["ring"](5)
    broken = Schedule(whole.name, whole.collective, 5, 5, whole.steps[:-1])
    with pytest.raises(AssertionError):
        check_goal(broken)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_schedule_does_what_the_table_says(name: str) -> None:
    for make in ALGORITHMS[name].schedules:
        assert (make(8).name, make(8).collective) == (name, ALGORITHMS[name].collective)


@pytest.mark.parametrize("ranks", [2, 4, 8, 16])
@pytest.mark.parametrize("name", ["ring", "halving-doubling", "pairwise", "parameter-server"])
def test_schedule_costs_what_the_closed_form_says(name: str, ranks: int) -> None:
    assert schedule_time_s(SCHEDULES[name](ranks), 1e9, 1e-6, 100e9) == pytest.approx(
        closed_form_time_s(name, ranks, 1e9, 1e-6, 100e9), rel=1e-12
    )


@pytest.mark.parametrize(("ranks", "group"), [(12, 3), (16, 4), (8, 2), (7, 1)])
def test_hierarchical_schedule_costs_what_the_closed_form_says(ranks: int, group: int) -> None:
    expected = hierarchical_time_s(group, ranks // group, 1e9, 1e-6, 100e9)
    found = schedule_time_s(SCHEDULES["hierarchical"](ranks), 1e9, 1e-6, 100e9)
    assert found == pytest.approx(expected, rel=1e-12)


def test_ranks_forward_in_at_most_one_of_the_two_trees() -> None:
    for ranks in range(2, 65, 2):
        first, second = two_trees(ranks)
        # a root with one child is inner in name only; what costs bandwidth is two children
        inner = [{p for p in tree if tree.count(p) == 2} - {-1} for tree in (first, second)]
        assert not inner[0] & inner[1]


def test_trees_have_logarithmic_depth() -> None:
    assert len(SCHEDULES["tree"](128).steps) <= 2 * 8


def test_pipelined_double_tree_approaches_two_buffers_per_link() -> None:
    many = schedule_time_s(double_binary_tree(8, chunks_per_tree=200), 1e9, 0.0, 8e9)
    assert many == pytest.approx(closed_form_time_s("tree", 8, 1e9, 0.0, 8e9), rel=0.05)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_one_rank_is_too_few(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"collective {name}: ranks must be >= 2, got 1"):
        SCHEDULES[name](1)


def test_each_file_is_an_algorithm_and_an_alias_stands_for_one() -> None:
    files = (Path(collectives.__file__).parent / "algorithms").glob("[!_]*.py")
    assert {file.stem.replace("_", "-") for file in files} == {*ALGORITHMS, *ON_WIRINGS}
    assert collectives.collective_name("dbt") == collective_options("dbt").algorithm == "tree"
    assert JobSettings(collective="double-binary-tree").collective == "tree"
    with pytest.raises(InvalidInput, match="did you mean tree"):
        collectives.collective_name("treee")
