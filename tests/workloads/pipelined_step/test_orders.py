"""What every order of passes must keep: each pass once, none before what it needs, as many in flight as published."""

from collections.abc import Iterator

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.pipelined_step import ORDERS, PASSES
from topoopt.workloads.pipelined_step.schedules import Schedule

SIZES = [(2, 2), (2, 5), (4, 4), (4, 7), (6, 6), (8, 8), (8, 13)]
"""Stages, and micro-batches that enter at an end."""
Pass = tuple[str, int, int]


def rows(order: Schedule) -> list[Pass]:
    columns = order.direction.tolist(), order.chunk.tolist(), order.micro_batch.tolist()
    return [("FBW"[direction], chunk, batch) for direction, chunk, batch in zip(*columns, strict=True)]


def words(name: str, stage: int, stages: int, batches: int) -> str:
    """The order in short; what is done as one in brackets, and of the other direction with a dash."""
    order, text = ORDERS[name].of_stage(stage, stages, ORDERS[name].ends, batches), ""
    for place, (kind, chunk, batch) in enumerate(rows(order)):
        alone = order.begin[place] == order.end[place]
        opens, closes = (int(not alone and at[place] == place) for at in (order.begin, order.end))
        text += f"{'(' * opens}{kind}{chr(39) * int(chunk >= stages)}{batch}{')' * closes} "
    return text.strip()


def needs(one: Pass, stages: int) -> Iterator[Pass]:
    """What has to be done before a pass, wherever; chunks of ``stages`` follow each other."""
    kind, chunk, batch = one
    first, last = chunk % stages == 0, chunk % stages == stages - 1
    if kind == "F" and not first:
        yield "F", chunk - 1, batch
    if kind == "B":
        yield "F", chunk, batch
        if not last:
            yield "B", chunk + 1, batch
    if kind == "W":
        yield "B", chunk, batch


def in_flight(passes: list[Pass], released: str) -> int:
    """Micro-batches from their forward pass to that of a kind, at most."""
    most = now = 0
    for kind, _, _ in passes:
        now += (kind == "F") - (kind == released)
        most = max(most, now)
    return most


def test_directions_are_the_passes_of_a_step() -> None:
    assert PASSES == ("forward", "backward", "weights")


@pytest.mark.parametrize(("stages", "batches"), SIZES)
@pytest.mark.parametrize("name", ["zero-bubble", "dualpipe"])
def test_every_pass_is_taken_once_and_none_before_what_it_needs(name: str, stages: int, batches: int) -> None:
    """By brute force: workers go on as long as any of them can, and in the end all are through."""
    ends = ORDERS[name].ends
    orders = [ORDERS[name].of_stage(stage, stages, ends, batches) for stage in range(stages)]
    lists = [rows(order) for order in orders]
    taken = [one for passes in lists for one in passes]
    expected = {
        (kind, chunk, batch) for kind in "FBW" for chunk in range(ends * stages) for batch in range(batches)
    }
    assert sorted(taken) == sorted(expected)
    done, place = set[Pass](), [0] * stages
    went_on = True
    while went_on:
        went_on = False
        for stage, (order, passes) in enumerate(zip(orders, lists, strict=True)):
            while place[stage] < len(passes):
                begin, end = order.begin[place[stage]], order.end[place[stage]] + 1
                together = passes[begin:end]
                wanted = {need for one in together for need in needs(one, stages)}
                inside = {need for need in wanted if need[0] == "B" and need in together}
                if not wanted - inside <= done:
                    break
                done |= set(together)
                place[stage], went_on = end, True
    assert done == expected


@pytest.mark.parametrize(("stages", "batches"), SIZES)
def test_workers_hold_as_many_micro_batches_as_published(stages: int, batches: int) -> None:
    """1F1B and ZB-H1 p, at the first stage and on all of them (Qi 2023, Table 2); DualPipe p + 1 (DeepSeek-V3)."""
    for stage in range(stages):
        plain, zero, dual = (
            rows(order.of_stage(stage, stages, order.ends, batches)) for order in ORDERS.values()
        )
        assert in_flight(plain, "B") == in_flight(zero, "B") == min(stages - stage, batches)
        assert in_flight(zero, "W") == min(stages, batches)
        assert in_flight(dual, "B") == in_flight(dual, "W") == stages + 1


def test_gradients_of_weights_come_later_on_later_stages_as_in_figure_2_of_the_paper() -> None:
    assert words("zero-bubble", 0, 4, 5) == "F0 F1 F2 F3 B0 W0 F4 B1 W1 B2 W2 B3 W3 B4 W4"
    assert words("zero-bubble", 3, 4, 5) == "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 W2 W3 W4"


def test_dualpipe_goes_through_its_eight_steps() -> None:
    """Of four stages and four micro-batches from each end, by hand from the public code."""
    assert words("dualpipe", 0, 4, 4) == (
        "F0 F1 F2 F'0 B'0 W'0 F'1 (F3 B'1 W'1) (F'2 B0 W0) (B'2 W'2) (F'3 B1 W1) (B'3 W'3) B2 W2 B3 W3"
    )
    assert words("dualpipe", 1, 4, 4) == (
        "F0 F'0 F1 F'1 F2 (B'0 W'0) (F'2 B0 W0) (F3 B'1 W'1) (F'3 B1 W1) (B'2 W'2) (B2 W2) B'3 B3 W'3 W3"
    )


def test_the_other_half_of_dualpipe_is_the_mirror_image() -> None:
    for stage in range(3):
        mirrored = words("dualpipe", stage, 6, 8).replace("'", "")
        assert words("dualpipe", 5 - stage, 6, 8).replace("'", "") == mirrored
        assert words("dualpipe", 5 - stage, 6, 8).startswith("F'0")


@pytest.mark.parametrize(
    ("name", "sizes", "reason"),
    [
        ("zero-bubble", (4, 2, 8), "zero-bubble has one chunk for each of 4 stages, got 8"),
        ("dualpipe", (3, 2, 8), "even number of stages, got 3"),
        ("dualpipe", (4, 2, 3), "at least as many micro-batches from each end as its 4 stages, got 3"),
        ("dualpipe", (4, 1, 8), "a chunk for each of 4 stages and its mirror image, got 4"),
        ("1f1b", (4, 2, 6), "multiple of the 4 stages, got 6"),
    ],
)
def test_what_a_schedule_cannot_take_is_refused(name: str, sizes: tuple[int, int, int], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        ORDERS[name].check(*sizes)
