"""Grids whose prices and times are made up, so that the front is known without a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from topoopt.studies.choice import PLANNED, Evaluated, JobShare, Mix, Money, Network

MIX: Mix = (JobShare("one", 0.75), JobShare("other", 0.25))
ALONE: Mix = (JobShare("one", 1.0),)


def network(number: int) -> Network:
    """A network of its own number: four to every port count, so that some share a plan."""
    return Network(("topoopt", "rail", "torus", "expander")[number % 4], number // 4 + 1, 1e11)


def money(usd: float, servers_usd: float = 0.0) -> Money:
    return Money({"nic": usd}, {"servers": servers_usd} if servers_usd else {}, 5.0)


@dataclass
class MadeUpTimes:
    """Times that are known beforehand; what is asked for is written down."""

    times: Mapping[tuple[JobShare, Network], float | str]
    optimism: Mapping[tuple[JobShare, Network], float] = field(default_factory=dict)
    of_switch: float = 0.0
    planned: list[tuple[JobShare, Network]] = field(default_factory=list)

    def at_least_s(self, job: JobShare, one: Network) -> float:
        time = self.times[job, one]
        return self.optimism.get((job, one), 0.0) * (time if isinstance(time, float) else 1.0)

    def beside_switch_s(self, job: JobShare, switch_s: float) -> float:
        return self.of_switch * switch_s

    def plan(self, wanted: Sequence[tuple[JobShare, Network]]) -> dict[tuple[JobShare, Network], float | str]:
        assert len(set(wanted)) == len(wanted), "nothing is asked for twice at once"
        assert not set(wanted) & set(self.planned), "nothing is planned twice"
        self.planned += wanted
        return {one: self.times[one] for one in wanted}


def evaluated(
    number: int, usd: float, *times: float, status: str = PLANNED, parts: Mapping[str, float] | None = None
) -> Evaluated:
    """A network with its money and times relative to a reference on which everything takes a second."""
    bought = Money(dict(parts), {}, 5.0) if parts else money(usd)
    return Evaluated(network(number), bought, status, "", times, times)
