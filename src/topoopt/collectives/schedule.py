"""The noun Schedule: a collective as steps, each step saying who sends which chunk to whom."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from topoopt.base.errors import InvalidInput


class Send(NamedTuple):
    """One chunk from rank ``src`` to rank ``dst``, added to the receiver's copy or stored over it."""

    src: int
    dst: int
    chunk: int
    reduce: bool


Step = tuple[Send, ...]
"""Sends that happen at the same time, all reading the state before the step."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Steps with a barrier between them, on ranks ``0 .. ranks-1``.

    Attributes
    ----------
    name : str
        Name in :data:`topoopt.collectives.ALGORITHMS`.
    collective : str
        What holds afterwards: ``allreduce`` (everyone has the sum of every chunk), ``reduce-scatter`` (rank
        r has the sum of the r-th part of the chunks), ``all-gather`` (everyone has the r-th part of every rank r) or
        ``all-to-all`` (rank d has chunk s·ranks + d of every rank s).
    chunks : int
        Equal pieces. Of an all-to-all, a rank's buffer holds ``ranks`` of them; of the others, all.
    """

    name: str
    collective: str
    ranks: int
    chunks: int
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        if self.ranks < 2:
            raise InvalidInput(f"collective {self.name}: ranks must be >= 2, got {self.ranks}")

    @property
    def pieces(self) -> int:
        """Chunks in the buffer of one rank."""
        return self.ranks if self.collective == "all-to-all" else self.chunks


class MakeSchedule(Protocol):
    """One collective algorithm."""

    def __call__(self, ranks: int) -> Schedule:
        """Return the steps for ``ranks`` ranks."""
        ...


def relabel(schedule: Schedule, permutation: Sequence[int]) -> Schedule:
    """Return the schedule with rank i in the place of rank ``permutation[i]``.

    With ``permutation[i] = p·i mod n`` this embeds any algorithm along a ring of stride p (TopoOpt
    section 4.3). Only for AllReduce, whose postcondition names no rank.
    """
    assert schedule.collective == "allreduce", "the postcondition of the others names ranks"
    steps = tuple(
        tuple(send._replace(src=permutation[send.src], dst=permutation[send.dst]) for send in step)
        for step in schedule.steps
    )
    return Schedule(schedule.name, schedule.collective, schedule.ranks, schedule.chunks, steps)


def side_by_side(name: str, schedules: Sequence[Schedule]) -> Schedule:
    """Return schedules of one collective running at the same time, each on its own share of the chunks."""
    steps: list[Step] = []
    for index in range(max(len(schedule.steps) for schedule in schedules)):
        step: list[Send] = []
        offset = 0
        for schedule in schedules:
            if index < len(schedule.steps):
                step += [send._replace(chunk=send.chunk + offset) for send in schedule.steps[index]]
            offset += schedule.chunks
        steps.append(tuple(step))
    first = schedules[0]
    chunks = sum(schedule.chunks for schedule in schedules)
    return Schedule(name, first.collective, first.ranks, chunks, tuple(steps))
