"""A plan's wiring as GraphML, node-link JSON and DOT: networkx reads it, and topoopt the same wiring back."""

import io
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import topoopt
from topoopt.topologies.wirings.dot import dot_graph

FORMATS = {"graphml": "wiring.graphml", "node-link": "wiring.json", "dot": "wiring.dot"}
Links = Counter[tuple[int, int]]


def file_of(plan: topoopt.Plan, name: str) -> str:
    return str(topoopt.export(plan, format=name).files[FORMATS[name]])


def read_by_networkx(name: str, text: str) -> nx.MultiGraph:
    if name == "graphml":
        return nx.read_graphml(io.BytesIO(text.encode()), force_multigraph=True)
    if name == "node-link":
        return nx.node_link_graph(json.loads(text), edges="edges")
    found = dot_graph(
        text
    )  # networkx leaves DOT to pydot; Graphviz itself is asked below, where it is installed
    graph = nx.MultiDiGraph() if found.directed else nx.MultiGraph()
    graph.add_nodes_from((node.name, dict(node.says)) for node in found.nodes)
    for link in found.links:
        graph.add_edge(
            *link.ends, key=int(link.says["key"]), **{k: v for k, v in link.says.items() if k != "key"}
        )
    return graph


def links_of(plan: topoopt.Plan) -> Links:
    """Return how many links go from each server to each."""
    wired = plan.fabric.topology
    ends = zip(wired.src.tolist(), wired.dst.tolist(), strict=True)
    return Counter(dict(zip(ends, wired.ports.tolist(), strict=True)))


@pytest.fixture(scope="module")
def plans() -> dict[str, topoopt.Plan]:
    words: dict[str, Any] = {"fabrics": (), "budget": 10}
    return {
        "lifted": topoopt.plan("ncf", servers=12, degree=4, wiring="lifted", **words),
        "parallel cables": topoopt.plan("dlrm", servers=4, degree=6, **words),
        "directed": topoopt.plan("dlrm", servers=9, degree=3, links="directed", **words),
        "odd": topoopt.plan("vgg16", servers=9, degree=4, wiring="lifted", **words),
    }


def test_node_link_json_has_the_links_where_d3_and_older_networkx_look(
    plans: dict[str, topoopt.Plan], tmp_path: Path
) -> None:
    document = json.loads(file_of(plans["lifted"], "node-link"))
    older, newer = (nx.node_link_graph(document, edges=key) for key in ("links", "edges"))
    assert sorted(older.edges(keys=True, data="circuit")) == sorted(newer.edges(keys=True, data="circuit"))
    ids = {node["id"] for node in document["nodes"]}
    assert {end for link in document["links"] for end in (link["source"], link["target"])} == ids
    del document["links"][0]
    (tmp_path / "wiring.json").write_text(json.dumps(document))
    with pytest.raises(topoopt.InvalidInput, match="edges and links differ"):
        topoopt.topology(file=str(tmp_path / "wiring.json"))


KINDS = ("lifted", "parallel cables", "directed", "odd")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_networkx_reads_the_same_multigraph(name: str, kind: str, plans: dict[str, topoopt.Plan]) -> None:
    plan = plans[kind]
    graph = read_by_networkx(name, file_of(plan, name))
    number = {node: int(says["number"]) for node, says in graph.nodes(data=True)}
    assert sorted(number.values()) == list(range(plan.job.cluster.servers))
    found: Links = Counter()
    for a, b, says in graph.edges(data=True):
        found[number[a], number[b]] += 1
        found[number[b], number[a]] += not graph.is_directed()
        assert float(says["bandwidth_bps"]) == plan.job.cluster.link_bandwidth_bps
        assert says["panel"].startswith("panel")
        assert says["cable_a"] != says["cable_b"]
    assert found == links_of(plan)
    assert len({(a, b, key) for a, b, key in graph.edges(keys=True)}) == graph.number_of_edges()


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_back_is_the_same_wiring(
    name: str, kind: str, plans: dict[str, topoopt.Plan], tmp_path: Path
) -> None:
    plan = plans[kind]
    path = tmp_path / FORMATS[name]
    path.write_text(file_of(plan, name))
    topoopt.write_plan(tmp_path / "plan.json", plan)
    was, now = (topoopt.topology(file=str(tmp_path / one)) for one in ("plan.json", FORMATS[name]))
    assert isinstance(was, topoopt.WiringAnswer)
    assert isinstance(now, topoopt.WiringAnswer)
    kept = ("servers", "degree", "links", "family", "group", "hop_histogram", "rings", "idle_interfaces")
    assert {key: was.to_json()[key] for key in kept} == {key: now.to_json()[key] for key in kept}
    wired = now.wiring.topology()
    assert Counter(
        dict(zip(zip(wired.src.tolist(), wired.dst.tolist(), strict=True), wired.ports.tolist(), strict=True))
    ) == links_of(plan)
    assert now.wiring.names[:2] == ("srv000", "srv001")
    assert topoopt.rewire(plan, path).rewiring.moved_fibers == 0


def test_a_plan_on_it_is_the_same_plan(plans: dict[str, topoopt.Plan], tmp_path: Path) -> None:
    own = tmp_path / "own.json"
    paths = {name: tmp_path / file for name, file in FORMATS.items()}
    for name, path in paths.items():
        path.write_text(file_of(plans["lifted"], name))
    topoopt.write_wiring(own, topoopt.topology(file=str(paths["graphml"])))
    once, *others = (
        topoopt.plan("ncf", wiring=str(where), fabrics=(), budget=10, servers=12, degree=4)
        for where in (own, *paths.values())
    )
    for again in others:
        assert once.outcome == again.outcome
        assert links_of(once) == links_of(again)
        assert dict(once.fabric.rings) == dict(again.fabric.rings)
        assert once.strategy == again.strategy


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_draws_it(plans: dict[str, topoopt.Plan]) -> None:
    drawn = subprocess.run(
        ["dot", "-Tplain"],
        input=file_of(plans["directed"], "dot"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert sum(line.startswith("edge ") for line in drawn.stdout.splitlines()) == 27


def test_names_of_an_own_wiring_become_those_of_the_inventory(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("".join(f"gpu node {i},gpu node {(i + 1) % 5}\n" for i in range(5)))
    plan = topoopt.plan("ncf", wiring=path, fabrics=(), budget=0)
    rows = file_of(plan, "dot")
    assert '"gpu-node-0" -- "gpu-node-1"' in rows
    assert "gpu-node-4" in str(topoopt.export(plan, format="patch-list").files["patch-list.csv"])
    assert "gpu-node-0" in str(topoopt.fail(plan, link=(0, 1)))
    other = tmp_path / "other.csv"
    other.write_text("".join(f"gpu node {i},gpu node {(i + 2) % 5}\n" for i in range(5)))
    moves = str(topoopt.rewire(path, other, relabel=False).to_json())
    assert "gpu-node-3" in moves
    assert "srv003" not in moves


def test_a_spoiled_export_is_one_line(plans: dict[str, topoopt.Plan], tmp_path: Path) -> None:
    path = tmp_path / "wiring.dot"
    text = file_of(plans["lifted"], "dot")
    for old, new, message in (
        ('number="3"', 'number="x"', 'line [0-9]+: number: expected a number, got "x"'),
        ('source_port="1"', 'source_port="2"', "server [0-9]+, port 2: taken by|on two panels"),
        ('degree = "4"', 'degree = "many"', 'graph: degree: expected a number, got "many"'),
        ('rings = "', 'rings = "7', "graph: rings: expected JSON"),
        ('recipe = "', 'recipe = "7"; was = "', "graph: recipe: expected a mapping, got 7"),
    ):
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(topoopt.InvalidInput, match=message) as caught:
            topoopt.topology(file=str(path))
        assert str(caught.value).startswith(str(path))
