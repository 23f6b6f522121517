"""Wiring files: what is written is read back, and mistakes are one line with server, port and line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import topoopt

Spoil = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def lifted() -> topoopt.WiringAnswer:
    found = topoopt.topology(16, 4, family="lifted", budget=0.1)
    assert isinstance(found, topoopt.WiringAnswer)
    return found


@pytest.fixture
def written(lifted: topoopt.WiringAnswer, tmp_path: Path) -> Path:
    path = tmp_path / "wiring.json"
    topoopt.write_wiring(path, lifted)
    return path


@pytest.mark.parametrize(
    ("servers", "degree", "links", "words"),
    [
        (16, 4, "duplex", {"family": "lifted"}),
        (15, 4, "duplex", {"family": "lifted"}),
        (16, 5, "duplex", {"family": "lifted"}),
        (7, 3, "duplex", {"wirings": "any"}),
        (12, 4, "duplex", {"family": "circulant"}),
        (12, 3, "directed", {"family": "kautz"}),
        (16, 3, "directed", {"family": "lifted"}),
        (50, 7, "duplex", {"family": "slim-fly"}),
    ],
)
def test_a_file_is_read_back(
    servers: int, degree: int, links: str, words: dict[str, Any], tmp_path: Path
) -> None:
    answer = topoopt.topology(servers, degree, links=links, budget=0.1, **words)
    path = tmp_path / "wiring.json"
    topoopt.write_wiring(path, answer)
    again = topoopt.topology(file=str(path))
    kept = (
        "servers",
        "degree",
        "links",
        "family",
        "average_hops",
        "hop_histogram",
        "rings",
        "panels",
        "group",
    )
    one, other = answer.to_json(), again.to_json()
    assert {key: one[key] for key in kept} == {key: other[key] for key in kept}
    topoopt.write_wiring(tmp_path / "again.json", again)
    assert (tmp_path / "again.json").read_text() == path.read_text()


def test_panels_are_matchings_for_even_numbers_and_petersens_for_odd(tmp_path: Path) -> None:
    widths = [
        topoopt.topology(n, 4, family="lifted", budget=0.1).to_json()["interfaces_per_panel"]
        for n in (16, 15)
    ]
    assert widths == [1, 2]


def test_strides_are_written_too(tmp_path: Path) -> None:
    path = tmp_path / "strides.json"
    topoopt.write_wiring(path, topoopt.topology(16, 4, wirings="strides"))
    assert topoopt.topology(file=str(path)).to_json()["strides"] == [1, 5]


def joined(file: dict[str, Any], **ends: object) -> None:
    file["links"][0].update(ends)


def two_parts(file: dict[str, Any]) -> None:
    """Two complete graphs of five servers."""
    file["graph"].update(servers=10, interfaces_per_panel=4, rings=[], group=1)
    file["nodes"] = [{"id": server} for server in range(10)]
    ports = [0] * 10
    file["links"] = []
    for half in (0, 5):
        for a in range(half, half + 5):
            for b in range(a + 1, half + 5):
                file["links"].append(
                    {"source": a, "source_port": ports[a], "target": b, "target_port": ports[b]}
                )
                ports[a] += 1
                ports[b] += 1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda file: joined(file, source_port=9),
            r"line \d+: server \d+, port 9: ports are 0..3 for degree 4",
        ),
        (lambda file: joined(file, source=99), r"line \d+: source 99, port \d: servers are 0..15"),
        (
            lambda file: file["links"].pop(),
            r"server \d+, port \d: no cable ends there, and graph.idle does not name it",
        ),
        (
            lambda file: file["graph"].update(degree=5),
            r"server 0, port 4: no cable ends there, .*; its other links: line \d+, line \d+, line \d+, line \d+",
        ),
        (
            lambda file: file["links"].append(file["links"][0]),
            r"line \d+: server \d+, port \d: taken by line \d+, too",
        ),
        (lambda file: file["graph"].update(format="other"), "expected a wiring file"),
        (
            lambda file: file.update(graph=[]),
            r"line 1: graph: expected a mapping with format, .* got \[\]; write one",
        ),
        (
            lambda file: file.update(graph="ring"),
            'line 1: graph: expected a mapping .*, got "ring"; write one',
        ),
        (
            lambda file: file.update(graph={}),
            'line 1: graph: missing key "format": expected topoopt-wiring/1; write',
        ),
        (
            lambda file: joined(file, source="a"),
            r'line 2: links\[0\].source: expected an integer >= 0 .*, got "a"',
        ),
        (lambda file: file["links"][4].update(kind=1), r'line 6: links\[4\]: unknown key "kind"'),
        (lambda file: file.update(nodes={}), r"line 1: nodes: expected .*, got {}"),
        (lambda file: file["graph"].update(servers="x"), r'line 1: graph.servers: expected .*, got "x"'),
        (lambda file: file["nodes"].pop(), "nodes: expected each of 0..15 once"),
        (lambda file: file.update(directed=True), "directed: true here, duplex links"),
        (lambda file: file["graph"]["rings"][0]["walk"].reverse(), None),
        (lambda file: file["graph"]["rings"][0]["walk"].sort(), r"graph.rings\[0\]: no link"),
        (lambda file: file["graph"].update(extra=1), "extra"),
        (two_parts, r"line \d+: server 5, port 0: server 0 does not reach it; the wiring falls into parts"),
        (
            lambda file: file["links"][3].pop("target_port"),
            r"line 5: source \d+, source port \d, target \d+: an end is missing; give its target_port",
        ),
        (lambda file: file["links"].append({}), r"a link: an end is missing"),
        (
            lambda file: joined(file, target=file["links"][0]["source"], target_port=3),
            r"line 2: server \d+, port \d",
        ),
        (
            lambda file: file["graph"]["idle"].append(["both", 3, 1]),
            r"graph.idle: server 3, port 1: .*line \d+",
        ),
        (lambda file: file["graph"].update(degree=10**9), "graph.degree: expected an integer <= 1000"),
    ],
)
def test_a_bad_file_is_one_line(spoil: Spoil, message: str | None, written: Path) -> None:
    file = json.loads(written.read_text())
    spoil(file)
    rows = ",\n".join(json.dumps(link) for link in file.pop("links"))
    written.write_text(json.dumps(file)[:-1] + f', "links": [\n{rows}\n]}}')
    if message is None:
        topoopt.topology(file=str(written))
        return
    with pytest.raises(topoopt.TopoOptError, match=message) as caught:
        topoopt.topology(file=str(written))
    assert str(caught.value).startswith(str(written))


def test_a_recipe_that_says_nonsense_changes_nothing(written: Path) -> None:
    file = json.loads(written.read_text())
    file["graph"]["recipe"] = {"strides": 7}
    written.write_text(json.dumps(file))
    assert topoopt.topology(file=str(written)).to_json()["strides"] == []


def test_a_file_and_servers_do_not_go_together(written: Path) -> None:
    with pytest.raises(topoopt.InvalidInput, match="servers: already given by the wiring file"):
        topoopt.topology(16, file=str(written))


def read(path: Path, **words: Any) -> topoopt.WiringAnswer:
    answer = topoopt.topology(file=str(path), **words)
    assert isinstance(answer, topoopt.WiringAnswer)
    return answer


def test_a_list_of_links_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "ring.txt"
    path.write_text("0 1\n1 2\n2 3\n3 4\n4 0\n")
    answer = read(path)
    assert (answer.to_json()["diameter"], answer.wiring.degree, len(answer.to_json()["rings"])) == (2, 2, 1)
    assert read(path, degree=3).wiring.idle_interfaces == 5
    assert read(path, links="directed").to_json()["diameter"] == 4
    topoopt.write_wiring(tmp_path / "wiring.json", answer)
    assert read(tmp_path / "wiring.json").to_json()["family"] == "given"


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("0 1\n1 2\n2 0\n3 4\n4 5\n5 3\n", {}, "line 4: server 3: server 0 does not reach it; .* parts"),
        ("0 1\n1 2\n2 0\n0 3\n", {}, "not regular: server 0 has 3 ports out, most have 2"),
        ("0 1\n1 2\n2 0\n", {"degree": 1}, "line 2: server 1 has 1 ports out, and this would be port 2"),
        ("0 1\n0 2\n1 2\n", {"links": "directed"}, "server 0 has no link in"),
    ],
)
def test_a_bad_list_is_one_line(text: str, words: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text(text)
    with pytest.raises(topoopt.InvalidInput, match=message) as caught:
        read(path, **words)
    assert str(caught.value).startswith(str(path))


def test_the_wiring_of_a_plan_is_written_with_its_rings(tmp_path: Path) -> None:
    plan = topoopt.plan("dlrm", servers=8, degree=4, fabrics=(), budget=20)
    topoopt.write_plan(tmp_path / "plan.json", plan)
    answer = read(tmp_path / "plan.json")
    topoopt.write_wiring(tmp_path / "wiring.json", answer)
    again = read(tmp_path / "wiring.json")
    one, other = plan.fabric.topology, again.wiring.topology(plan.job.cluster.link_bandwidth_bps)
    assert (one.src.tolist(), one.dst.tolist(), one.ports.tolist()) == (
        other.src.tolist(),
        other.dst.tolist(),
        other.ports.tolist(),
    )
    assert len(again.wiring.rings) == len(answer.wiring.rings) > 0
    with pytest.raises(topoopt.InvalidInput, match=r"degree: .*plan.json is a plan, which says it"):
        read(tmp_path / "plan.json", degree=4)
