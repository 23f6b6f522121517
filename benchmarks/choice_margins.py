"""How safe the estimates of ``topoopt choose`` are: whole grids planned, beside what the estimates would have dropped.

``python benchmarks/choice_margins.py FOLDER [JOB@SERVERS …]`` plans every network of a grid for each job alone, keeps
the plans in the folder, and prints the least that a plan took of the closed form and of the ideal switch of its ports;
how many networks the estimates drop; and how many of these are on the front of the whole grid.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from topoopt.pricing import OwnershipTerms, Running, pricing_of, server_price
from topoopt.studies.choice import (
    DROPPED,
    JobShare,
    LeastTimes,
    Machines,
    Mix,
    Network,
    Owner,
    Store,
    explore,
    front_of,
    network_grid,
    priced,
    read_mix,
    swept_times,
)
from topoopt.studies.sweep import kept_processes

JOBS = (
    *("llama3-8b@16", "llama3-70b@16", "llama3-70b@32", "mixtral-8x7b@16", "gpt3-175b@32"),
    *("dlrm@8", "dlrm@16", "dlrm@32", "vgg16@16", "bert@16", "resnet50@16", "candle@16", "ncf@16"),
)
DEGREES = (2, 4, 8)
BANDWIDTHS_BPS = (100e9, 200e9, 400e9, 800e9)
SEARCH = {"budget": 400, "seeds": 0}

Wanted = tuple[JobShare, Network]
Times = dict[Wanted, float | str]


@dataclass
class Known:
    """Times of a whole grid, and what the estimates say before any of it is known."""

    times_s: Times
    least: LeastTimes
    asked: list[Wanted] = field(default_factory=list)

    def at_least_s(self, job: JobShare, network: Network) -> float:
        return self.least.at_least_s(job, network)

    def beside_switch_s(self, job: JobShare, switch_s: float) -> float:
        return self.least.beside_switch_s(job, switch_s)

    def plan(self, wanted: Sequence[Wanted]) -> Times:
        self.asked += wanted
        return {one: self.times_s[one] for one in wanted}


def main(folder: str, jobs: tuple[str, ...]) -> None:
    """Print a row for each job."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    print("job  networks  least of estimate, of switch  dropped, of these on the front  plans")
    with kept_processes(1) as crew:
        for word in jobs:
            print(row(word, Store(f"{folder}/{word}.duckdb", crew)), flush=True)


def row(word: str, store: Store) -> str:
    """Return what the estimates of a job are worth."""
    name, servers = word.split("@")
    machines = Machines(int(servers), "h100", 8, 3.6e12)
    owner = Owner(machines.servers, pricing_of(), OwnershipTerms(Running(5.0, 0.1), server_price("h100", 8)))
    mix = read_mix([name])
    networks = network_grid(machines.servers, DEGREES, BANDWIDTHS_BPS)
    least = LeastTimes(machines)
    money = priced(networks, owner)
    times = swept_times(mix, networks, machines, SEARCH if name in OPERATORS else {}, store, least)
    whole = explore(mix, money, times, exact=True)
    known = times.plan([(job, one) for one in dict.fromkeys(each.timed for each in networks) for job in mix])
    found = explore(mix, money, seen := Known(known, least))
    of_front = {point.network for point in front_of(whole.points, mix)}
    dropped = [point for point in found.points if point.status == DROPPED]
    wrong = [point for point in dropped if point.network in of_front]
    ratios = of_estimate(mix, known, least)
    return (
        f"{word}  {len(networks)}  {ratios[0]:.4f} {ratios[1]:.4f}  {len(dropped)} {len(wrong)}  "
        f"{len(seen.asked)} of {len(known)}"
    )


OPERATORS = ("dlrm", "vgg16", "bert", "resnet50", "candle", "ncf")


def of_estimate(mix: Mix, known: Times, least: LeastTimes) -> tuple[float, float]:
    """Return the least of any time over the estimate before it was planned, without its margin, and over the switch."""
    (job,) = mix
    timed = {network: time for (_, network), time in known.items() if isinstance(time, float)}
    switch = {
        (one.degree, one.bandwidth_bps): time for one, time in timed.items() if one.fabric == "ideal-switch"
    }
    margin = 1.0 if job.job in OPERATORS else 0.9
    estimated = min(time / (least.at_least_s(job, one) / margin) for one, time in timed.items())
    return estimated, min(time / switch[one.degree, one.bandwidth_bps] for one, time in timed.items())


if __name__ == "__main__":
    main(sys.argv[1], tuple(sys.argv[2:]) or JOBS)
