"""Wirings of one's own: what networkx, Graphviz and people write is read, with names, rings and one-line mistakes."""

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

import topoopt

Write = Callable[[nx.Graph, Path], object]


def read(path: Path, **words: str | int) -> topoopt.WiringAnswer:
    answer = topoopt.topology(file=str(path), **words)  # type: ignore[arg-type]
    assert isinstance(answer, topoopt.WiringAnswer)
    return answer


def cables(answer: topoopt.WiringAnswer) -> list[tuple[int, int]]:
    """Return every fiber, sorted."""
    src, dst = answer.wiring.arcs
    return sorted(zip(src.tolist(), dst.tolist(), strict=True))


def fibers_of(graph: nx.Graph, number: Callable[[object], int]) -> list[tuple[int, int]]:
    pairs = [(number(a), number(b)) for a, b in graph.edges()]
    return sorted(pairs if graph.is_directed() else pairs + [(b, a) for a, b in pairs])


def dot(graph: nx.Graph, path: Path) -> None:
    sign = "->" if graph.is_directed() else "--"
    nodes = "".join(f'  "{node}";\n' for node in graph)
    edges = "".join(f'  "{a}" {sign} "{b}"; // a cable\n' for a, b in graph.edges())
    path.write_text(f"{'digraph' if graph.is_directed() else 'graph'} lab {{\n{nodes}{edges}}}\n")


def node_link(graph: nx.Graph, path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(graph)))


def old_node_link(graph: nx.Graph, path: Path) -> None:
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))


WRITERS: dict[str, Write] = {
    "wiring.graphml": nx.write_graphml,
    "new.json": node_link,
    "old.json": old_node_link,
    "wiring.dot": dot,
    "wiring.edgelist": nx.write_edgelist,
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_networkx_writes_is_read(name: str, tmp_path: Path) -> None:
    graph = nx.MultiGraph(nx.circulant_graph(12, [2, 3]))
    graph.add_edges_from((i, (i + 1) % 12) for i in range(12))
    graph.add_edges_from((i, (i + 1) % 12) for i in range(12))  # parallel cables are ports
    WRITERS[name](graph, tmp_path / name)
    answer = read(tmp_path / name)
    assert (answer.wiring.degree, answer.wiring.names) == (8, ())
    assert cables(answer) == fibers_of(graph, int)  # type: ignore[arg-type]
    assert len(answer.wiring.rings) == 4


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "wiring.edgelist"])
def test_names_are_kept_in_the_order_of_the_file(name: str, tmp_path: Path) -> None:
    order = [f"gpu-{(7 * i) % 16}" for i in range(16)]
    graph = nx.Graph()
    graph.add_nodes_from(order)
    graph.add_edges_from((order[i], order[(i + step) % 16]) for i in range(16) for step in (1, 5))
    WRITERS[name](graph, tmp_path / name)
    answer = read(tmp_path / name)
    assert answer.wiring.names == tuple(order) == tuple(answer.to_json()["names"])
    assert cables(answer) == fibers_of(graph, lambda name: order.index(str(name)))
    assert "servers 0, 1, 2 … are gpu-0, gpu-7, gpu-14 …" in str(answer)


def test_a_list_of_links_has_no_order_so_that_names_are_sorted_with_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "ring.csv"
    ring = [f"srv{i}" for i in (10, 2, 1, 9)]
    path.write_text("".join(f"{a};{b}\n" for a, b in zip(ring, ring[1:] + ring[:1], strict=True)))
    assert read(path).wiring.names == ("srv1", "srv2", "srv9", "srv10")


def test_names_survive_the_wiring_file_and_the_plan(tmp_path: Path) -> None:
    nx.write_graphml(
        nx.relabel_nodes(nx.circulant_graph(8, [1, 3]), "host{}".format), tmp_path / "own.graphml"
    )
    topoopt.write_wiring(tmp_path / "own.json", read(tmp_path / "own.graphml"))
    names = tuple(f"host{i}" for i in range(8))
    assert read(tmp_path / "own.json").wiring.names == names
    plan = topoopt.plan("ncf", wiring=str(tmp_path / "own.graphml"), fabrics=(), budget=0)
    assert plan.wiring is not None
    assert tuple(plan.wiring.recipe["names"]) == names
    topoopt.write_plan(tmp_path / "plan.json", plan)
    assert read(tmp_path / "plan.json").wiring.names == names


@pytest.mark.parametrize(
    "text",
    [
        "source,target,bandwidth\na,b,100Gbps\nb,c,100 Gb/s\nc,a,12.5GB/s\n",
        "Src;Dst;Speed\na;b;100,0 Gbps\nb;c;0,1Tbps\nc;a;100000000000,0\n",
        "Src;Dst;Speed\na;b;100Gbps\nb;c;100Gbps\nc;a;1e11\n",
        "server_a\tport_a\tserver_b\tport_b\tbw_gbps\na\t0\tb\t1\t100\nb\t0\tc\t1\t100\nc\t0\ta\t1\t100\n",
        "a b {'bw': '100Gbps'}\nb c {'bw': '100Gbps'}\nc a {}\n",
        'graph { edge [bw="100Gbps"]; a -- b -- c -- a }',
        'strict graph "x" {\n # by hand\n a -- {b c} [bandwidth=1e11]; b -- c /* again: */ b -- c -- a; }',
        'digraph { a -> b -> c -> a; a -> c -> b -> a; edge [bandwidth="100Gbps"]; subgraph cluster_1 { } }',
        '{"edges": [["a", "b"], ["b", "c"], ["c", "a"]]}',
        '[["a", "b"], ["b", "c"], ["c", "a"]]',
        "a -> b\nb -- c\nc a\n",
        "a,b\nb,a\nb,c\nc,b\nc,a\na,c\n",
    ],
)
def test_a_triangle_by_hand(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text(text)
    answer = read(path)
    assert (answer.wiring.servers, answer.wiring.degree, answer.wiring.links) == (3, 2, "duplex")
    assert answer.wiring.names == ("a", "b", "c")
    assert cables(answer) == [(a, b) for a in range(3) for b in range(3) if a != b]
    assert answer.wiring.recipe.get("bandwidth_bps") in (None, 100e9)
    assert ("Gb" in text or "1e11" in text or "gbps" in text) <= (
        "bandwidth_bps" in answer.wiring.recipe or "digraph" in text
    )


def test_cables_said_both_ways_are_cables_unless_fibers_are_asked_for(tmp_path: Path) -> None:
    graph = nx.circulant_graph(9, [1, 2])
    nx.write_graphml(graph.to_directed(), tmp_path / "both.graphml")
    assert (read(tmp_path / "both.graphml").wiring.links, read(tmp_path / "both.graphml").wiring.degree) == (
        "duplex",
        4,
    )
    assert read(tmp_path / "both.graphml", links="directed").wiring.links == "directed"
    kautz = nx.DiGraph([(i, (i + step) % 9) for i in range(9) for step in (1, 2)])
    nx.write_graphml(kautz, tmp_path / "one-way.graphml")
    assert read(tmp_path / "one-way.graphml").wiring.links == "directed"


def test_ports_are_read_where_all_links_say_them(tmp_path: Path) -> None:
    path = tmp_path / "ports.graphml"
    edges = "".join(
        f'<edge source="{i}" target="{(i + 1) % 4}" sourceport="{i % 2}" targetport="{i % 2}"/>'
        for i in range(4)
    )
    nodes = "".join(f'<node id="{i}"/>' for i in range(4))
    path.write_text(f'<graphml><graph edgedefault="undirected">{nodes}{edges}</graph></graphml>')
    ports = read(path).ports
    assert (ports.src_port.tolist(), ports.dst_port.tolist(), ports.interfaces_per_panel) == (
        [0, 1, 0, 1],
        [0, 1, 0, 1],
        1,
    )


@pytest.mark.parametrize(
    ("graph", "rings", "says"),
    [
        (
            nx.petersen_graph(),
            0,
            "No ring of all servers over direct links was found",
        ),  # it is not Hamiltonian
        (nx.circulant_graph(12, [2, 3]), 2, ""),
        (nx.complete_bipartite_graph(3, 3), 1, "they use 2 of 3 ports"),
        # two complete graphs of 5 joined by 2 cables: at most one ring can cross those
        (
            nx.Graph(
                [e for e in nx.complete_graph(range(5)).edges if e not in ((0, 1),)]
                + [e for e in nx.complete_graph(range(5, 10)).edges if e not in ((5, 6),)]
                + [(0, 5), (1, 6)]
            ),
            1,
            "Of 2 rings of all servers that share no link 1 found: an AllReduce around them uses 2 of 4 ports",
        ),
    ],
)
def test_rings_are_found_and_what_is_missing_is_said(
    graph: nx.Graph, rings: int, says: str, tmp_path: Path
) -> None:
    nx.write_graphml(graph, tmp_path / "own.graphml")
    answer = read(tmp_path / "own.graphml")
    assert len(answer.wiring.rings) == rings
    for ring in answer.wiring.rings:
        walk = ring.walk.tolist()
        assert sorted(walk) == list(range(len(graph)))
        assert all(
            graph.has_edge(str(a), str(b)) or graph.has_edge(a, b)
            for a, b in zip(walk, walk[1:] + walk[:1], strict=True)
        )
    assert says in str(answer).replace("\n", " ").replace("  ", " ") or says in " ".join(str(answer).split())


GRAPHML = '<graphml>\n<graph edgedefault="undirected">\n{}\n</graph>\n</graphml>'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.graphml", "<graphml>\n<graph>\n<node id='a'>\n", r"line \d: not XML"),
        ("x.graphml", "<kml></kml>", 'line 1: expected GraphML, got XML of "kml"'),
        (
            "x.graphml",
            '<!DOCTYPE a [<!ENTITY b "c">]>\n<graphml/>',
            "line 1: declares an entity; write the text itself",
        ),
        ("x.graphml", "<graphml/>", "holds no graph"),
        ("x.graphml", GRAPHML.format("<node id='a'/>\n<edge source='a'/>"), "line 4: an edge without target"),
        (
            "x.graphml",
            GRAPHML.format("<node id='a'/>\n<node id='b'/><edge source='a' target='c'/>"),
            "line 4: c is not among the nodes",
        ),
        ("x.graphml", GRAPHML.format("<node id='a'/>\n<node id='a'/>"), "names no link"),
        (
            "x.graphml",
            GRAPHML.format("<node id='a'/>\n<node id='a'/><edge source='a' target='a'/>"),
            "line 4: node a stands twice",
        ),
        ("x.graphml", GRAPHML.format("<hyperedge/>"), "line 3: a hyperedge joins more than two"),
        (
            "x.graphml",
            GRAPHML.format("<node id='a'><graph/></node>"),
            "line 3: a second graph; expected one, without graphs inside nodes",
        ),
        (
            "x.graphml",
            GRAPHML.format(
                "<node id='a'><data key='type'>ToR switch</data></node><edge source='a' target='a'/>"
            ),
            r"line 3: node a is a switch or a NIC, and a wiring joins servers directly",
        ),
        ("x.dot", "graph {\n a -- b\n b -> a\n}", "line 3: -> in a graph; write --"),
        ("x.dot", "graph {\n srv-1 -- srv-2\n}", 'line 2: not DOT: "-1 -- srv-2"; put names in quotes'),
        ("x.dot", "graph {\n a -- b\n", r"line 2: ends too early; expected }"),
        ("x.dot", "graph { a -- }", 'line 1: expected a node, got "}"'),
        ("x.gv", "flow { }", 'line 1: expected graph or digraph, got "flow"'),
        ("x.dot", "graph { a -- b } graph { }", 'line 1: "graph" behind the graph'),
        ("x.dot", "graph { a [kind=switch]; a -- b }", "line 1: node a is a switch"),
        ("x.gml", "graph [\n node [ id 0 ]\n]", "looks like GML, which is not read; write GraphML"),
        ("x.csv", "source,target\na,b,c\n", "line 2: 3 values for the 2 columns source, target"),
        (
            "x.csv",
            "source,target,badnwidth\na,b,200Gbps\n",
            'unknown column "badnwidth"; did you mean bandwidth',
        ),
        (
            "x.csv",
            "source,target,capacity\na,b,200Gbps\n",
            'unknown column "capacity"; did you mean bandwidth',
        ),
        (
            "x.csv",
            "source,target,zeal\na,b,2\n",
            'line 1: unknown column "zeal"; expected such as source, target',
        ),
        ("x.csv", "source,tagret\na,b\n", 'line 1: unknown column "tagret"; did you mean target'),
        (
            "x.csv",
            "plug,socket\na,b\n",
            'line 1: unknown columns "plug" and "socket"; .* source and target',
        ),
        ("x.csv", "source,target,bw,bw\na,b,1Gbps,2Gbps\n", 'line 1: column "bw" stands twice'),
        ("x.csv", "source,src,target\na,b,c\n", "line 1: expected one column source, got source, src"),
        ("x.csv", "source,bandwidth\na,1Gbps\n", "line 1: expected one column target, got none"),
        ("x.csv", "spine1,leaf1\nleaf1,a\n", "line 1: node leaf1 is a switch or a NIC"),
        (
            "x.dot",
            'graph { a -- b [bandwidht="1Gbps"] }',
            'line 1: unknown "bandwidht"; did you mean bandwidth',
        ),
        (
            "x.json",
            '{"links": [{"source": 0, "target": 1, "latency_ms": 1}]}',
            r'links\[0\]: unknown "latency_ms"; did you mean latency_s',
        ),
        (
            "x.json",
            '{"nodes": [{"id": "0_GPU_0"}, {"id": "0_NVSwitch_0"}], "links": [{"source": "0_GPU_0", '
            '"target": "0_NVSwitch_0", "capacity": 300}]}',
            r"nodes\[1\]: node 0_NVSwitch_0 is a switch or a NIC, and a wiring joins servers directly",
        ),
        ("x.csv", "a,b,c\n", "line 1: expected two servers, .*; name the columns in a first line"),
        ("x.csv", "0 1\n1 -2\n-2 0\n", 'line 2: expected two servers, such as 0 1, got "-2"'),
        ("x.csv", "a,b\nb,b\n", "line 2: server b is linked to itself"),
        (
            "x.csv",
            "source,target,bw\na,b,100Gbps\nb,c,100Gbps\nc,a,200Gbps\n",
            "line 4: link c - a has 200 Gb/s, that of line 2 100 Gb/s, and all links of a wiring are alike",
        ),
        ("x.csv", "source,target,bw\na,b,100\n", 'line 2: bw: got "100" without a unit; .* such as 100Gbps'),
        ("x.csv", "source,target,latency\na,b,5 parsecs\n", "line 2: latency: unknown or missing unit"),
        ("x.csv", "a,b\nb,c\nc,a\nx,y\ny,z\nz,x\n", "line 4: server x: server a does not reach it"),
        ("x.csv", "a,b\nb,c\nc,a\na,d\n", "server a has 3 ports out, most have 2; .* or degree=3"),
        (
            "x.json",
            '{"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b"}]}',
            r"edges\[0\]: b is not",
        ),
        ("x.json", '{"nodes": [{"x": "a"}], "edges": []}', r"nodes\[0\]: expected an id"),
        ("x.json", '{"edges": [{"source": {}, "target": "b"}]}', r"edges\[0\]: expected the name or number"),
        ("x.json", '{"nodes": 3}', "expected a list of links"),
        ("x.json", '{"edges": [[0, 1], [1, 3], [3, 0]]}', "server 2 has no link; number servers from 0"),
        (
            "x.json",
            '{"nodes": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "edges": [["a", "b"]]}',
            "server c has no link out; give it one, or leave it out",
        ),
    ],
)
def test_a_mistake_is_one_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(topoopt.InvalidInput, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_every_verb_takes_servers_and_bandwidth_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    pairs = [(i, (i + step) % 8) for i in range(8) for step in (1, 3)]
    path.write_text(
        "source,target,bandwidth,latency\n" + "".join(f"h{a},h{b},50Gbps,2us\n" for a, b in pairs)
    )
    plan = topoopt.plan("ncf", wiring=path, fabrics=(), budget=0)
    cluster = plan.job.cluster
    assert (cluster.servers, cluster.degree, cluster.links) == (8, 4, "duplex")
    assert (cluster.link_bandwidth_bps, cluster.link_latency_s) == (50e9, 2e-6)
    for asks in (
        lambda: topoopt.plan("ncf", wiring=path, bandwidth="25Gbps", fabrics=(), budget=0),
        lambda: topoopt.collective("allreduce", "1MB", wiring=path, bandwidth="25Gbps"),
        lambda: topoopt.simulate(plan, wiring=path, simulator="flow", bandwidth="25Gbps"),
    ):
        with pytest.raises(
            topoopt.InvalidInput, match=r"^bandwidth: .*own.csv says 50 Gb/s per link, got 25 Gb/s"
        ):
            asks()
    answer = topoopt.collective("allreduce", "1MB", wiring=path)
    assert isinstance(answer, topoopt.CollectiveAnswer)
    assert answer.wiring.port_bps == 50e9
    priced = topoopt.cost(wiring=path, fabrics=["topoopt"]).network
    assert (priced.cluster.servers, priced.cluster.link_bandwidth_bps) == (8, 50e9)
    assert priced.average_hops == pytest.approx(read(path).chosen.hops.average_hops)
    on_it = topoopt.simulate(plan, wiring=path, simulator="flow")
    assert on_it.iteration_time_s == pytest.approx(topoopt.simulate(plan, simulator="flow").iteration_time_s)
    assert topoopt.rewire(plan, path).rewiring.moved_fibers == 0
    assert topoopt.traffic("ncf", wiring=path).fabric.topology.servers == 8


def test_a_plan_says_where_rings_are_too_few(tmp_path: Path) -> None:
    for name, graph, says in (
        (
            "petersen",
            nx.petersen_graph(),
            "Of 2 rings of all servers that share no link, there and back, 0 found",
        ),
        ("circulant", nx.circulant_graph(10, [1, 3]), ""),
    ):
        nx.write_graphml(graph, tmp_path / f"{name}.graphml")
        plan = topoopt.plan("vgg16", wiring=tmp_path / f"{name}.graphml", fabrics=(), budget=0)
        page = " ".join(str(plan).split())
        assert ("rings of all servers that share no link" in page) == bool(says)
        assert says in page
