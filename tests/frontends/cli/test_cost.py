"""``topoopt cost``: every fabric's price, watts and bill; its mistakes are one line with a remedy."""

import csv
import inspect
import json
import re
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.catalog import NETWORKS
from topoopt.pages.cost_tables import ITEMS
from topoopt.pricing import ACCOUNTINGS, FIBER_ON, LINK_TECHNOLOGIES, PartRow, accounting_sweep, find_prices
from topoopt.schema.words import CostWords, described


def test_every_fabric_is_priced_and_every_price_has_its_accounting(topoopt: Topoopt) -> None:
    paper = ["--prices", "2022", "--accounting", "paper"]
    answer = json.loads(topoopt("cost", "--servers", "128", *paper, "--json").out)
    rows = {row["fabric"]: row for row in answer["fabrics"]}
    assert tuple(rows) == NETWORKS.that(lambda one: one.closed_form and one.name != "full-mesh")
    assert "needs 127 interfaces" in dict(answer["skipped_fabrics"])["full-mesh"]
    # by hand: 4 × (678 + 99 + 2·100 + 25 + 2·150) a server, and 4 × (678 + 6·99 + 5·187 + 3·150)
    assert rows["topoopt"]["cost_per_server_usd"] == pytest.approx(4 * 1302)
    assert rows["ideal-switch"]["over_topoopt"] == pytest.approx(2657 / 1302)
    assert rows["topoopt"]["power_w"] == pytest.approx(512 * 19.7)
    for row in rows.values():
        assert row["accounting"] == "paper"
        assert row["cost_usd"] == pytest.approx(sum(line["total_usd"] for line in row["bill"]))
    assert answer["accounting"]["words"].startswith("NICs; two panels")
    assert answer["cost_equivalent_fat_tree"]["server_bandwidth_bps"] == 200e9
    assert answer["cost_equivalent_fat_tree"]["published"]["server_bandwidth_bps"] == 125e9
    assert all(row["source"] for row in answer["sources"])


def test_every_fabric_says_in_words_what_it_is(topoopt: Topoopt) -> None:
    words = ["cost", "--oversubscription", "3", "--ocs-interfaces", "1", "--degree", "8", "--tiers", "2"]
    answer = json.loads(topoopt(*words, "--json").out)
    notes = {row["fabric"]: row["note"] for row in answer["fabrics"]}
    assert notes["oversub-fat-tree"] == "3:1 above the first switch"
    assert notes["topoopt-hybrid"].startswith("1 of 8 interfaces behind optical circuit switches")
    assert (answer["options"]["oversubscription"], answer["options"]["ocs_interfaces"]) == (3, 1)
    assert "3:1 above the first switch" in topoopt(*words).out
    one = json.loads(topoopt("cost", "--fabrics", "topoopt,oversub-fat-tree", "--json").out)["fabrics"][1]
    assert one["note"] == "2:1 above the first switch"


def test_each_choice_of_the_accounting_is_a_flag(topoopt: Topoopt) -> None:
    def document(*flags: str, accounting: str = "paper") -> dict[str, object]:
        words = ["cost", "--fabrics", "topoopt", "--prices", "2022", "--accounting", accounting, *flags]
        answer = json.loads(topoopt(*words, "--json").out)
        kept = {key: value for key, value in answer["accounting"].items() if key != "words"}
        return {**kept, "usd": answer["fabrics"][0]["cost_per_server_usd"]}

    paper = document()
    assert document("--no-look-ahead", "--no-look-ahead-fiber")["name"] == "no-look-ahead"
    for flags, key, value, usd in [
        (["--no-nics"], "nics", False, 4 * (1302 - 678)),
        (["--no-look-ahead"], "look_ahead", False, 4 * (678 + 99 + 100 + 150)),
        (["--no-look-ahead-fiber"], "look_ahead_fiber", False, 4 * (1302 - 150)),
        (["--fiber-on", "none"], "fiber_on", "none", 4 * (1302 - 300)),
        (["--fiber-length", "50"], "fiber_length_m", 50.0, 4 * (1302 - 270)),
        (["--tiers", "2"], "tiers", 2, 4 * 1302),
    ]:
        found = document(*flags)
        assert found["usd"] == pytest.approx(usd)
        assert found == {**paper, "name": "custom", key: value, "usd": found["usd"]}
    back = document("--look-ahead", "--look-ahead-fiber", accounting="no-look-ahead")
    assert back == paper


def test_a_plan_says_servers_ports_wiring_and_traffic(topoopt: Topoopt, plan_file: str) -> None:
    answer = json.loads(topoopt("cost", plan_file, "--change-every", "20ms", "--json").out)
    plan = json.loads(Path(plan_file).read_text())
    assert (answer["servers"], answer["degree"]) == (plan["servers"], plan["degree"])
    assert answer["average_hops"] == pytest.approx(plan["average_hops"])
    assert answer["fabrics"][0]["cost_usd"] == pytest.approx(plan["cost_usd"])
    largest = answer["transfers"]["largest_pair_bytes"]
    quick = {row["technology"]: row["break_even_bytes"] <= largest for row in answer["optical_technologies"]}
    assert sorted(answer["transfers"]["worth_a_circuit_of"]) == sorted(name for name in quick if quick[name])
    assert len(answer["warnings"]) == 1  # a patch panel cannot follow
    ran = topoopt("cost", plan_file, "--servers", "8")
    assert ran.code == 2
    assert ran.err == "error: --servers: plan.json is a plan, whose cluster is fixed; give one or the other\n"


def test_what_is_printed_for_people(topoopt: Topoopt) -> None:
    flags = ["--bill", "topoopt,fat-tree", "--change-every", "1s", "--ratios", "--prices", "2022"]
    out = topoopt("cost", *flags, "--accounting", "paper").out
    assert max(map(len, out.splitlines())) <= 110
    for words in (
        "Bill of topoopt  $667 k",
        "Bill of fat-tree  $1.36 M",
        "d·B / 3.2",
        "8 × patch-panel (128 ports each, of 1008, 0.5 dB, one could hold all)",
        "traffic changes every 1 s; routes of 5.35 links",
        "published 1.33 and 3.2; nearest first",
        "wants circuits that follow it",
    ):
        assert words in out
    (piezo,) = (line for line in out.splitlines() if line.startswith(" piezo"))
    assert piezo.split()[1:4] == ["yes", "576", "25"]
    ratios = [line.split() for line in out.splitlines() if re.match(r" (fat-tree-fiber|paper) ", line)]
    assert [(line[0], *line[-3:]) for line in ratios] == [
        ("fat-tree-fiber", "1.27", "3.07", "5%"),
        ("paper", "1.10", "2.43", "24%"),
    ]


def test_the_ratios_are_those_of_the_sweep(topoopt: Topoopt) -> None:
    words = ["cost", "--fabrics", "topoopt", "--ratios", "--prices", "2022", "--json"]
    answer = json.loads(topoopt(*words).out)["ratios"]
    assert answer["published"] == {"ocs_over_panel": 1.33, "ideal_over_topoopt": 3.2}
    found = [(row["ocs_over_panel"], row["ideal_over_topoopt"]) for row in answer["rows"]]
    assert found == [
        (row.ocs_over_panel, row.ideal_over_topoopt) for row in accounting_sweep(find_prices("2022"))
    ]


def test_every_line_of_every_bill_goes_into_a_file(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt("cost", "--out", "bills.csv", "--json").out)
    with Path("bills.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == sum(len(row["bill"]) for row in answer["fabrics"])
    total = sum(float(row["total_usd"]) for row in rows if row["fabric"] == "topoopt")
    assert total == pytest.approx(answer["fabrics"][0]["cost_usd"])


def test_network_servers_and_electricity_are_priced_together(topoopt: Topoopt) -> None:
    words = ["cost", "--fabrics", "topoopt", "--server-price", "50000", "--server-power", "3000"]
    words += ["--years", "4", "--electricity-price", "0.1", "--pue", "1.3", "--utilization", "1"]
    words += ["--interest", "0", "--colocation", "0", "--maintenance", "0"]
    (row,) = json.loads(topoopt(*words, "--json").out)["fabrics"]
    owned = row["ownership"]
    # 128 servers of 3 kW and the network's 10.0864 kW, 35,040 h
    assert owned["electricity_usd"] == pytest.approx((384 + row["power_w"] / 1e3) * 1.3 * 35_040 * 0.1)
    assert owned["total_usd"] == pytest.approx(6.4e6 + row["cost_usd"] + owned["electricity_usd"])
    assert owned["usd_per_hour"] == pytest.approx(owned["total_usd"] / 35_040)
    assert owned["usd_per_run"] is owned["usd_per_token"] is owned["usd_per_sample"] is None
    page = topoopt(*words, "--staff", "250000").out
    assert "Cost of ownership and training" in page
    assert "$250,000 a year for staff" in page
    assert "storage, whose prices" in page


def test_a_plan_is_priced_again_by_the_terms_that_it_was_made_with(topoopt: Topoopt) -> None:
    small = ["plan", "dlrm", "--servers", "8", "--degree", "2", "--budget", "20", "--fabrics", "none"]
    topoopt(*small, "--years", "3", "--interest", "0.2", "--out", "plan.json")
    own, again = (
        json.loads(topoopt("cost", "plan.json", "--fabrics", "topoopt", *words, "--json").out)
        for words in ([], ["--years", "4"])
    )
    plan = json.loads(Path("plan.json").read_text())
    assert own["terms"] == plan["terms"]
    assert own["fabrics"][0]["ownership"]["usd_per_hour"] == pytest.approx(plan["ownership"]["usd_per_hour"])
    assert (again["terms"]["running"]["years"], again["terms"]["running"]["interest_rate"]) == (4, 0.2)


def test_an_accelerator_without_a_price_leaves_the_sum_open(topoopt: Topoopt) -> None:
    words = ["cost", "--fabrics", "topoopt", "--accelerator", "v100"]
    owned = json.loads(topoopt(*words, "--json").out)["fabrics"][0]["ownership"]
    assert owned["usd_per_hour"] is owned["servers_usd"] is None
    assert owned["network_usd"] > 0
    assert "no server of the catalogue has this accelerator" in owned["unknown"][0]
    assert "sums with it are left open" in topoopt(*words).out


def test_a_missing_figure_is_named_and_the_sum_is_null(topoopt: Topoopt) -> None:
    Path("w.csv").write_text("item,bandwidth_gbps,watts\ntransceiver,800,17\nfiber_m,,0\n")
    words = ["cost", "--bandwidth", "800Gbps", "--power", "none,w.csv", "--fabrics", "expander"]
    (row,) = json.loads(topoopt(*words, "--json").out)["fabrics"]
    assert row["power_w"] is None
    assert row["power_missing"] == ["nic of 800 Gb/s"]
    assert "no figure for nic of 800 Gb/s; give one in a file of your own (power)" in topoopt(*words).out


def test_a_list_with_a_missing_part_says_which_bills_it_leaves_open(topoopt: Topoopt) -> None:
    Path("p.csv").write_text(
        "item,bandwidth_gbps,usd\nnic,100,500\ntransceiver,100,90\nelectrical_port,100,200\nfiber_m,,0.1\n"
    )
    words = ["cost", "--prices", "none,p.csv"]
    answer = json.loads(topoopt(*words, "--json").out)
    rows = {row["fabric"]: row for row in answer["fabrics"]}
    own = rows["topoopt"]
    assert (own["cost_usd"], own["price_missing"]) == (None, ["patch_panel_port"])
    # what is known of it: 512 cards and transceivers, and the fibers
    meters = next(line["count"] for line in own["bill"] if line["item"] == "fiber_m")
    assert own["known_usd"] == pytest.approx(512 * 590 + 0.1 * meters)
    assert rows["fat-tree"]["cost_usd"] > 0
    assert rows["fat-tree"]["price_missing"] == []
    assert answer["cost_equivalent_fat_tree"] is None
    out = " ".join(topoopt(*words).out.split())
    assert "topoopt: no price of patch_panel_port" in out
    named = topoopt("cost", "--prices", "none,p.csv", "--fabrics", "topoopt")
    assert (named.code, named.err) == (
        2,
        'error: prices none,p.csv: no price of "patch_panel_port"; add a row\n',
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--prices 2022 --bandwidth 400Gbps",
            "--prices 2022: no transceiver of 400 Gb/s: the list ends at 200 Gb/s; use more interfaces, or another",
        ),
        (
            "--servers 2000",
            "topoopt: 2000 servers need 2000 ports on each panel, and the largest (patch-panel) has ",
        ),
        ("--shards 0", "--shards: expected 1..128, got 0"),
        ("--fabrics topopt", '--fabrics: unknown name "topopt"; did you mean topoopt'),
        ("--fabrics none", "--fabrics: none leaves nothing to price; name one or more"),
        ("--technology mirrors", 'optical switch: unknown name "mirrors"'),
        ("--ocs-interfaces 4", "topoopt-hybrid: --ocs-interfaces must be 1..3 of 4 interfaces, got 4"),
        ("--oversubscription 0.5", "--oversubscription: expected a ratio >= 1, got 0.5"),
        ("--accounting creative", '--accounting: unknown name "creative"'),
        ("--fiber-on roofs", '--fiber-on: unknown name "roofs"'),
        ("--tiers 4", "--tiers: expected 1, 2 or 3, got 4"),
        ("--prices 2023", '--prices: unknown name "2023"'),
        ("--years 0", "--years: expected a number above 0 and up to 100, got 0"),
        ("--utilization 80", "--utilization: expected a share above 0 and up to 1, got 80"),
        ("--server-price cheap", '--server-price: expected dollars >= 0, low, typical or high, got "cheap"'),
        ("--samples 5 --tokens 5", "--tokens: a run has one size, and samples is given; leave one out"),
        ("--power none", "--power: none has no rows; name files behind it, such as none,mine.csv"),
        ("--link-technology wet", '--link-technology: unknown name "wet"'),
        (
            "--link-technology copper --accounting paper",
            "--link-technology copper: needs whole switches, and accounting paper counts ports; use",
        ),
        ("--change-every 5", '--change-every: unknown or missing unit in "5"'),
        ("--overhead 1.5", "optics: overhead: expected a fraction between 0 and 1, got 1.5"),
        ("--change-every 0s", "optics: change_interval_s: expected seconds > 0, got 0"),
        ("--bill torsu", '--bill: unknown name "torsu"; did you mean torus'),
        ("--out bills.txt", "--out: bills.txt: expected a file name that ends in .csv or .parquet"),
        ("plan.json", "plan.json: no such file"),
        ("--servers 1", "--servers: expected an integer >= 2, got 1"),
    ],
)
def test_a_mistake_is_one_line(topoopt: Topoopt, words: str, message: str) -> None:
    ran = topoopt("cost", *words.split())
    assert ran.code == 2
    assert ran.err.startswith(f"error: {message}")
    assert ran.err.count("\n") == 1
    assert not Path("bills.txt").exists()


def test_one_duplex_port_forwards_nothing_and_is_priced_all_the_same(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt("cost", "--degree", "1", "--json").out)
    assert answer["average_hops"] is None
    assert {row["break_even_bytes"] for row in answer["optical_technologies"]} == {0}


def test_the_flags_name_their_tables() -> None:
    words = {word.name: set(re.split(r"[ |,.:;]+", word.text)) for word in described(CostWords)}
    assert set(NETWORKS) <= words["fabrics"]
    assert set(ACCOUNTINGS) <= words["accounting"]
    assert set(FIBER_ON) <= words["fiber_on"]
    assert set(LINK_TECHNOLOGIES) <= words["link_technology"] | {"co-packaged"}
    hint = inspect.get_annotations(PartRow)["item"]
    assert set(ITEMS) == set(hint.__args__)
