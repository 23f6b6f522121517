"""``topoopt topology`` chooses a wiring, or strides, and shows the network that they make."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt

SHOWN = """
12 servers, 4 duplex ports each
  strides   1, 5 (rule: given)
  wiring    server i to i ± 1, i ± 5 (mod 12)
  diameter  3 hops
  average   1.818 hops

 hops   servers   within
─────────────────────────
    1         4    0.364
    2         5    0.818
    3         2    1.000
"""


def test_what_is_shown(topoopt: Topoopt) -> None:
    ran = topoopt("topology", "--servers", "12", "--strides", "1,5")
    assert ran.code == 0
    printed = [line.rstrip() for line in ran.out.splitlines()]
    assert printed[: len(SHOWN.splitlines())] == SHOWN.splitlines()


def test_json_has_the_stable_keys(topoopt: Topoopt) -> None:
    answer = json.loads(
        topoopt("topology", "--servers", "16", "--degree", "4", "--strides", "lower-bound", "--json").out
    )
    assert answer["strides"] == [1, 5]
    assert answer["diameter"] == 4
    assert answer["average_hops"] == pytest.approx(2.133, abs=1e-3)
    assert answer["hop_histogram"] == {"1": 64, "2": 96, "3": 64, "4": 16}
    assert set(answer["coins"]) == {str(distance) for distance in range(1, 16)}


@pytest.mark.parametrize("servers", [2, 3, 12, 13, 64])
def test_the_coins_of_a_distance_add_up_to_it(topoopt: Topoopt, servers: int) -> None:
    answer = json.loads(
        topoopt(
            "topology",
            "--servers",
            str(servers),
            "--degree",
            "4",
            "--strides",
            "best",
            "--wirings",
            "strides",
            "--json",
        ).out
    )
    for distance, coins in answer["coins"].items():
        assert sum(coins) % servers == int(distance)
    assert answer["diameter"] == max(len(coins) for coins in answer["coins"].values())


def test_directed_links_take_one_port_a_stride(topoopt: Topoopt) -> None:
    words = (
        "topology",
        "--servers",
        "16",
        "--degree",
        "3",
        "--links",
        "directed",
        "--strides",
        "nearest",
        "--json",
    )
    answer = json.loads(topoopt(*words).out)
    assert (answer["strides"], answer["diameter"]) == ([1, 3, 7], 4)


def test_more_ports_bring_servers_nearer(topoopt: Topoopt) -> None:
    hops = [
        json.loads(topoopt("topology", "--servers", "48", "--degree", degree, "--json").out)["average_hops"]
        for degree in ("2", "4", "6", "8")
    ]
    assert all(more > fewer for more, fewer in pairwise(hops))


def test_any_wiring_has_the_keys_of_strides_and_more(topoopt: Topoopt) -> None:
    asked = ("topology", "--servers", "32", "--degree", "4", "--json")
    strides = json.loads(topoopt(*asked, "--wirings", "strides").out)
    answer = json.loads(topoopt(*asked).out)
    assert set(strides) - set(answer) == {"rule", "coins"}
    assert strides["moore_average_hops"] == answer["moore_average_hops"] <= answer["average_hops"]
    assert answer["average_hops"] < strides["average_hops"]
    assert all(sorted(ring["walk"]) == list(range(32)) for ring in answer["rings"])


def test_a_wiring_is_written_drawn_and_read(topoopt: Topoopt, tmp_path: Path) -> None:
    out, plot = str(tmp_path / "w.json"), str(tmp_path / "w.html")
    ran = topoopt(
        "topology", "--servers", "16", "--degree", "3", "--family", "lifted", "--out", out, "--plot", plot
    )
    assert ran.code == 0
    assert "3 of them share links, at half rate" in ran.out
    assert "Matchings wiring of 16 servers" in Path(plot).read_text()
    assert "matchings" in topoopt("topology", out).out


def test_directed_links_are_warned_of(topoopt: Topoopt) -> None:
    ran = topoopt("topology", "--servers", "12", "--degree", "2", "--links", "directed", "--family", "kautz")
    assert "patched apart" in " ".join(ran.out.split())
