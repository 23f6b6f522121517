"""Routes pair by pair, and the addressing plan: what the library knows, in names and addresses."""

import csv
import io
import itertools
import json
from dataclasses import replace

import pytest

import topoopt
from topoopt.plugins.exports import FORMATS, Deployment, deployment
from topoopt.routing import Path, explicit_routes


@pytest.fixture(scope="module", params=["hashed", "pinned"])
def made(twelve: topoopt.Plan, request: pytest.FixtureRequest) -> Deployment:
    return replace(deployment(twelve), paths=request.param)


def table(made: Deployment, format: str, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(str(FORMATS[format].write(made)[name]))))


def test_every_path_of_every_pair_is_there(made: Deployment) -> None:
    rows = table(made, "routes", "routes.csv")
    names, expected = made.addressing.server_names, list[object]()
    for src, dst in itertools.permutations(range(12), 2):
        for number, path in enumerate(made.plan.fabric.routes.paths(src, dst)):
            address = made.addressing.identity(dst, number if made.paths == "pinned" else 0)
            walk = ">".join(names[node] for node in path.nodes)
            expected.append((names[src], names[dst], walk, pytest.approx(path.weight), address))
    found = [(row["src"], row["dst"], row["path"], float(row["weight"]), row["addresses"]) for row in rows]
    assert found == expected


def test_both_ends_of_every_cable_have_their_addresses(made: Deployment) -> None:
    rows = table(made, "addresses", "addresses.csv")
    identities = [row for row in rows if row["interface"] == "lo"]
    assert len(identities) == 12 * made.tables.identities
    assert all(row["address"].endswith("/32") for row in identities)
    ends = {(row["server"], row["interface"]): row for row in rows if row["interface"] != "lo"}
    assert len(ends) == 2 * len(made.wiring.patches)
    for (server, interface), row in ends.items():
        other = ends[row["peer_server"], row["peer_interface"]]
        assert (other["peer_server"], other["peer_interface"]) == (server, interface)
        assert (other["address"], other["peer_address"]) == (row["peer_address"], row["address"])
    joined = {
        frozenset([(c.cable_a.server, c.cable_a.interface), (c.cable_b.server, c.cable_b.interface)])
        for c in made.circuits
    }
    assert {
        frozenset([key, (row["peer_server"], row["peer_interface"])]) for key, row in ends.items()
    } == joined
    assert len({row["address"] for row in rows}) == len(rows)


def test_the_document_says_how_forwarding_goes(made: Deployment) -> None:
    document = json.loads(str(FORMATS["addresses"].write(made)["addresses.json"]))
    assert document["paths"] == made.paths
    assert document["tables"] == made.tables.kind == "source"
    assert document["why"].startswith("tables by source: ")
    assert document["largest_weight_error"] <= 1 / 255
    assert [server["name"] for server in document["servers"]] == list(made.addressing.server_names)
    assert all(len(server["interfaces"]) == 4 for server in document["servers"])


def test_the_answer_says_it_where_forwarding_is_written(twelve: topoopt.Plan) -> None:
    assert topoopt.export(twelve, format="patch-list").to_json()["forwarding"] is None
    facts = topoopt.export(twelve, format=("patch-list", "routes")).to_json()["forwarding"]
    assert (facts["paths"], facts["tables"], facts["pairs_freed_of_circles"]) == ("hashed", "source", 0)
    assert facts["entries"] > 12 * 11


def test_routes_of_some_pairs_only_are_no_forwarding(twelve: topoopt.Plan) -> None:
    """They are refused with the pair that has none; what needs no routes is written."""
    routes = explicit_routes(twelve.fabric.topology, [Path((0, 1)), Path((1, 0))])
    answer = topoopt.export(replace(twelve, fabric=replace(twelve.fabric, routes=routes)))
    refused = {one.format.name: one.reason for one in answer.refused}
    for name in ("addresses", "routes", "iproute2", "frr", "netplan", "sonic-routes", "rdma"):
        assert refused[name].startswith("no route 0->2: ")
    assert "patch-list/patch-list.csv" in answer.files


def test_prefixes_and_paths_are_words_of_the_verb(twelve: topoopt.Plan) -> None:
    words = {"identity_prefix": "192.168.0.0/24", "link_prefix": "172.16.0.0/24", "paths": "pinned"}
    answer = topoopt.export(twelve, format="addresses", **words)  # type: ignore[arg-type]
    rows = list(csv.DictReader(io.StringIO(str(answer.files["addresses.csv"]))))
    assert rows[0]["address"] == "192.168.0.0/32"
    assert rows[-1]["address"].startswith("172.16.0.")
    for wrong, message in (
        ({"paths": "both"}, 'paths: unknown name "both"; Known: hashed, pinned'),
        (
            {"identity_prefix": "here"},
            'identity_prefix: expected an IPv4 prefix such as 10.9.0.0/16, got "here"',
        ),
        (
            {"link_prefix": "10.99.0.0/24"},
            "link_prefix: 10.99.0.0/24 overlaps 10.99.0.0/16 of identity_prefix",
        ),
    ):
        with pytest.raises(topoopt.InvalidInput) as caught:
            topoopt.export(twelve, format="patch-list", **wrong)  # type: ignore[arg-type]
        assert message in str(caught.value)
