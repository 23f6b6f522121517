"""Collectives through switches: the optimum of published fabrics, and of small ones by hand."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import topoopt


def written(tmp_path: Path, links: Sequence[Mapping[str, Any]], directed: bool = False) -> Path:
    names = dict.fromkeys(end for link in links for end in (link["source"], link["target"]))
    path = tmp_path / "switched.json"
    document = {"directed": directed, "nodes": [{"id": name} for name in names], "links": [*links]}
    path.write_text(json.dumps(document))
    return path


def two_servers(boxes: int = 2) -> list[dict[str, Any]]:
    """Servers of 8 A100 each: NVSwitch at 300 GB/s, a NIC of 25 GB/s per accelerator, two switches between them."""
    links = []
    for box in range(boxes):
        for gpu in range(8):
            links += [
                {"capacity": 300, "source": f"{box}_GPU_{gpu}", "target": f"{box}_NVSwitch_0"},
                {"capacity": 25, "source": f"{box}_GPU_{gpu}", "target": f"{box}_mlx5_{gpu}"},
                {"capacity": 25, "source": f"{box}_mlx5_{gpu}", "target": f"-1_IB_{gpu % 2}"},
            ]
    return links


def test_two_servers_of_a100_reach_346_gigabytes_per_second(tmp_path: Path) -> None:
    """The optimum that ForestColl (arXiv 2402.06787) names: 15 shards of 16 leave over 13 ports of 25 GB/s."""
    path = written(tmp_path, two_servers())
    answer = topoopt.collective("all-gather", "1GB", wiring=path, alpha="1ns")
    assert isinstance(answer, topoopt.CollectiveAnswer)
    assert (answer.wiring.servers, answer.wiring.ports, answer.wiring.port_bps) == (16, 13, 200e9)
    assert answer.time_s(answer.bound) == pytest.approx(1 / 346.667, rel=1e-5)
    assert answer.chosen.schedule == "spanning-trees"
    assert answer.time_s(answer.chosen) == pytest.approx(2.885e-3, rel=0.002)
    assert answer.played is not None
    assert answer.played.missing == 0
    assert "16 servers and 20 switches, 13 duplex ports each" in str(answer)


@pytest.mark.parametrize("operation", ["allreduce", "reduce-scatter"])
def test_a_reduction_takes_the_trees_backwards(tmp_path: Path, operation: str) -> None:
    path = written(tmp_path, two_servers())
    answer = topoopt.collective(operation, "1GB", wiring=path, alpha="1ns")
    assert isinstance(answer, topoopt.CollectiveAnswer)
    passes = 2 if operation == "allreduce" else 1
    assert answer.time_s(answer.chosen) == pytest.approx(passes / 346.667, rel=0.003)


def test_one_switch_gives_each_server_its_own_bandwidth(tmp_path: Path) -> None:
    links = [{"bandwidth": "100Gbps", "source": f"h{host}", "target": "leaf1"} for host in range(6)]
    answer = topoopt.collective("all-gather", "1GB", wiring=written(tmp_path, links), alpha="1ns")
    assert isinstance(answer, topoopt.CollectiveAnswer)
    assert answer.time_s(answer.bound) == pytest.approx(5 / 6 * 0.08, rel=1e-6)
    assert answer.time_s(answer.chosen) == pytest.approx(5 / 6 * 0.08, rel=0.001)


def test_a_narrow_link_between_switches_is_the_bound(tmp_path: Path) -> None:
    """Two leaves of 4 servers with 100 Gb/s, joined by 25 Gb/s: half of the message crosses that link, in 0.16 s."""
    links: list[dict[str, Any]] = [
        {"gbps": 100, "source": f"h{host}", "target": f"leaf{host // 4}"} for host in range(8)
    ]
    links.append({"gbps": 25, "source": "leaf0", "target": "leaf1"})
    answer = topoopt.collective("all-gather", "1GB", wiring=written(tmp_path, links), alpha="1ns")
    assert isinstance(answer, topoopt.CollectiveAnswer)
    assert answer.time_s(answer.bound) == pytest.approx(0.16, rel=1e-6)
    assert answer.time_s(answer.chosen) == pytest.approx(0.16, rel=0.001)


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ([("gpu0", "nvswitch0", 100), ("nvswitch0", "gpu0", 100)], "joins 1 accelerators by 1 switches"),
        ([("gpu0", "leaf0", 100), ("leaf0", "gpu1", 50), ("gpu1", "leaf0", 50), ("leaf0", "gpu0", 50)],
         "switch leaf0 receives 3 and sends 2 ports"),
        ([("gpu0", "leaf0", None), ("leaf0", "gpu1", 50)], "has no bandwidth, and other links have one"),
        ([("gpu0", "leaf0", 1.0001), ("leaf0", "gpu1", 400)], "links have bandwidths that no port divides"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_place(
    tmp_path: Path, links: Sequence[tuple[str, str, float | None]], said: str
) -> None:
    rows = [{"source": a, "target": b, **({} if rate is None else {"gbps": rate})} for a, b, rate in links]
    with pytest.raises(topoopt.InvalidInput, match=f"switched.json: .*{said}"):
        topoopt.collective("all-gather", "1GB", wiring=written(tmp_path, rows, directed=True))
