"""What to buy: networks are priced, those that may be on the front are planned, and one of the front is taken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from topoopt.choice.answer import Choice
from topoopt.choice.decision import Limits, decide, front_of
from topoopt.choice.explore import Progress, explore
from topoopt.choice.least_times import LeastTimes
from topoopt.choice.machines import Machines
from topoopt.choice.mix import Mix
from topoopt.choice.network import Network
from topoopt.choice.pricing import Owner, priced
from topoopt.choice.sensitivity import turns
from topoopt.choice.swept_times import Store, swept_times


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """What is asked.

    Attributes
    ----------
    search : mapping
        Keys of a sweep file that say how to search over operators.
    estimates : bool
        Whether closed forms of transformers spare plans; else every network is planned that has a price.
    """

    mix: Mix
    networks: Sequence[Network]
    machines: Machines
    owner: Owner
    limits: Limits = field(default_factory=Limits)
    search: Mapping[str, Any] = field(default_factory=dict)
    estimates: bool = True


def choose(
    question: Question, store: Store, on_progress: Progress = lambda stage, done, total: None
) -> Choice:
    """Return what to buy for a mix of jobs.

    Raises
    ------
    InvalidInput
        For an unknown model, a file that is wrong, or a job of more servers than there are.
    Infeasible
        If no network has a price and carries every job, or none meets the limit.
    """
    mix, machines, owner = question.mix, question.machines, question.owner
    least = LeastTimes(machines, question.estimates)
    told = replace(store, on_progress=on_progress)
    times = swept_times(mix, question.networks, machines, question.search, told, least)
    found = explore(mix, priced(question.networks, owner), times, on_progress)
    return Choice(
        mix,
        machines.servers,
        machines.words,
        owner.facts(),
        found.points,
        front_of(found.points, mix),
        question.limits,
        decide(found.points, mix, question.limits),
        turns(found.points, mix, question.limits),
        found.reference,
        found.reference_times_s,
        found.plans,
        owner.with_servers,
    )
