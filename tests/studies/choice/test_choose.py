"""From words to what to buy: plans are those of a sweep, and the front is that of everything planned."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.studies.choice.conftest import MadeUpTimes
from topoopt.base.errors import InvalidInput
from topoopt.pricing import OwnershipTerms, Running, network_bill, pricing_of, server_price
from topoopt.studies.choice import (
    LEFT_OUT,
    PLANNED,
    Choice,
    JobShare,
    Machines,
    Money,
    Network,
    Owner,
    Question,
    Store,
    choose,
    explore,
    front_of,
    network_grid,
    priced,
    read_mix,
    swept_times,
    write_choice,
)
from topoopt.studies.sweep import Answer, Task, make_sweep, solve

MIX = read_mix(["vgg16:0.6", "dlrm@4:0.4"])
NETWORKS = network_grid(6, (2, 3), (100e9, 400e9), ("topoopt", "topoopt-ocs", "rail", "torus"))
MACHINES = Machines(6, "a100", 4, 2.4e12)
OWNER = Owner(6, pricing_of(), OwnershipTerms(Running(5.0, 0.1), server_price("a100", 4)))
SEARCH = {"budget": 20, "seeds": 3}


def here(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
    """Compute in this process."""
    for task in tasks:
        on_start(task)
        yield from solve(task)


def idle(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
    """Whoever has nothing left to do."""
    assert not tasks
    return iter(())


@pytest.fixture(scope="module")
def times(store: str, choice: Choice) -> Mapping[tuple[JobShare, Network], float | str]:
    """The times that the choice has planned, read once."""
    wanted = [(job, one) for job in MIX for one in dict.fromkeys(network.timed for network in NETWORKS)]
    return swept_times(MIX, NETWORKS, MACHINES, SEARCH, Store(store, idle), NOTHING).plan(wanted)


def question(**changes: object) -> Question:
    return replace(Question(MIX, NETWORKS, MACHINES, OWNER, search=SEARCH), **changes)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("choice") / "plans.duckdb")


@pytest.fixture(scope="module")
def choice(store: str) -> Choice:
    return choose(question(), Store(store, here))


def test_times_are_those_of_a_sweep(choice: Choice) -> None:
    document = {
        "models": "dlrm",
        "servers": 4,
        "degree": 3,
        "bandwidth": "400 Gbps",
        "fabrics": ["rail", "topoopt"],
        "accelerator": "a100",
        "accelerators_per_server": 4,
        "intra_server_bandwidth": "2400 Gbps",
        **SEARCH,
    }
    sweep = make_sweep(document, ".", "test", "")
    times_s = {answer.point.fabric: answer.values["iteration_time_s"] for answer in here_all(sweep.points)}
    found = {point.network.fabric: point for point in choice.points if point.network in TWO}
    assert {name: point.times_s[1] for name, point in found.items()} == times_s


class Nothing:
    """Who knows nothing before it is planned."""

    def at_least_s(self, job: JobShare, network: Network) -> float:
        return 0.0

    def beside_switch_s(self, job: JobShare, switch_s: float) -> float:
        return 0.0


NOTHING = Nothing()
TWO = [Network("rail", 3, 400e9), Network("topoopt", 3, 400e9)]


def here_all(points: Sequence[object]) -> Iterator[Answer]:
    for point in points:
        yield from solve(Task((point,), "."))  # type: ignore[arg-type]


def test_money_is_the_bill_the_servers_and_the_electricity_of_both(choice: Choice) -> None:
    """Six servers of four of eight accelerators, five years of 8,760 h at 0.10 $ a kWh."""
    server = server_price("a100", 4)
    assert server.usd is not None
    assert server.power_w is not None
    for point in choice.points:
        network, money = point.network, point.money
        assert money is not None
        bill = network_bill(network.fabric, 6, network.degree, network.bandwidth_bps, pricing_of())
        assert bill.power_w is not None
        assert money.price_usd == pytest.approx(bill.cost_usd)
        electricity_usd = (6 * server.power_w + bill.power_w) / 1e3 * 5 * 8760 * 0.1
        assert money.other_usd["electricity"] == pytest.approx(electricity_usd)
        assert point.usd() == pytest.approx((bill.cost_usd or 0.0) + 6 * server.usd + electricity_usd)


def test_the_network_alone_costs_its_bill(store: str, choice: Choice) -> None:
    found = choose(question(owner=replace(OWNER, with_servers=False)), Store(store, idle))
    for point in found.points:
        assert point.money is not None
        assert point.usd() == point.money.price_usd


def test_the_second_time_nothing_is_planned_and_the_answer_is_the_same(store: str, choice: Choice) -> None:
    again = choose(question(), Store(store, idle))
    assert json.dumps(again.to_json()) == json.dumps(choice.to_json())


def test_a_limit_changes_what_is_taken_and_not_the_front(store: str, choice: Choice) -> None:
    dearest = choice.front[-1]
    usd = dearest.usd()
    assert usd is not None
    bought = choose(question(budget_usd=usd), Store(store, idle))
    assert bought.decision.point.network == dearest.network
    assert [point.network for point in bought.front] == [point.network for point in choice.front]


@pytest.mark.parametrize("seed", range(25))
def test_with_random_prices_the_front_is_the_enumerated_one(
    times: Mapping[tuple[JobShare, Network], float | str], choice: Choice, seed: int
) -> None:
    """Real times, prices drawn: each network is compared with each by the words of the definition."""
    draw = random.Random(seed)
    money: dict[Network, Money | str] = {
        network: Money({"nic": draw.choice([1.0, 2.0, 3.0, 5.0, 8.0])}, {}, 5.0) for network in NETWORKS
    }
    found = explore(MIX, money, MadeUpTimes(times))
    figures = {
        point.network: (point.usd(), point.relative_time(MIX))
        for point in found.points
        if point.status == PLANNED
    }
    unbeaten = {
        one
        for one, (usd, time) in figures.items()
        if not any(
            other_usd <= usd and other_time <= time and (other_usd, other_time) != (usd, time)  # type: ignore[operator]
            for other_usd, other_time in figures.values()
        )
    }
    assert {point.network for point in front_of(found.points, MIX)} == unbeaten
    assert found.reference == choice.reference


def test_what_has_no_price_says_why() -> None:
    slow = Network("rail", 2, 1e9)
    fast = Network("rail", 2, 100e12)
    found = priced([slow, fast], OWNER)
    assert isinstance(found[slow], Money)
    money = found[fast]
    assert isinstance(money, str) or money.unknown


def test_one_port_wires_nothing_and_leads_into_a_switch() -> None:
    wired, switched = Network("torus", 1, 400e9), Network("rail", 1, 400e9)
    found = priced([wired, switched], OWNER)
    assert found[wired] == "torus: 1 port joins servers in pairs; use 2 or more"
    assert isinstance(found[switched], Money)


def test_a_job_of_more_servers_than_there_are_is_refused(store: str) -> None:
    with pytest.raises(InvalidInput, match="dlrm@9: runs on 9 servers, and 6 are bought"):
        choose(question(mix=read_mix(["dlrm@9"])), Store(store, idle))


def test_two_servers_use_all_their_ports(store: str) -> None:
    """On switches a job of two servers has all of their interfaces, and on direct cables parallel links."""
    networks = network_grid(6, (2, 8), (400e9,), ("rail", "torus"))
    found = choose(question(mix=read_mix(["vgg16@2:1"]), networks=networks), Store(store, here))
    assert [point for point in found.points if point.status == LEFT_OUT] == []


def test_files_say_what_the_answer_says(tmp_path: Path, choice: Choice) -> None:
    names = write_choice(str(tmp_path), choice)
    assert names[:2] == ("choice.json", "networks.csv")
    assert json.loads((tmp_path / "choice.json").read_text()) == json.loads(json.dumps(choice.to_json()))
    lines = (tmp_path / "networks.csv").read_text().splitlines()
    assert len(lines) == 1 + len(NETWORKS)
    assert lines[0].split(",")[:3] == ["network", "fabric", "degree"]
    assert lines[1].startswith(choice.front[0].network.name)


def test_known_traffic_runs_on_its_own_servers(tmp_path: Path) -> None:
    """Three servers of a matrix, of six that are bought; more than these are refused in one line."""
    (tmp_path / "sent.csv").write_text("0,1e9,0\n0,0,1e9\n2e9,0,0\n")
    mix = read_mix([str(tmp_path / "sent.csv")])
    networks = network_grid(6, (2,), (100e9,), ("ideal-switch", "torus"))
    found = choose(question(mix=mix, networks=networks), Store(str(tmp_path / "plans.duckdb"), here))
    assert [job.servers for job in found.jobs] == [3]
    with pytest.raises(InvalidInput, match="sent: runs on 3 servers, and 2 are bought"):
        replace(MACHINES, servers=2).of(mix[0])


def test_prices_have_a_range_and_dominated_networks_are_named(choice: Choice) -> None:
    """Between the draws lies the listed price, and what is dominated costs as much and takes as long as its better."""
    rows = {row["network"]: row for row in choice.rows()}
    front = {point.network.name for point in choice.front}
    for row in rows.values():
        assert row["network_low_usd"] < row["network_high_usd"]
        assert (row["cheaper_share"] is None) == row["chosen"]
        if row["status"] == PLANNED:
            assert (row["dominated_by"] in front) == (not row["on_front"])
    for point, better in choice.dominated:
        worse, own = rows[point.network.name], rows[better.network.name]
        assert worse["total_usd"] >= own["total_usd"]
        assert worse["relative_time"] >= own["relative_time"] * (1 - 1e-8)
    mine = choice.to_json()["choice"]["total_usd"]
    assert all(row["cheaper_share"] > 0.5 for row in rows.values() if row["total_usd"] < 0.98 * mine)
