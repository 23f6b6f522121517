"""SONiC's configuration: refused where it cannot say the plan, else every route of every server."""

import csv
import io
import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

import topoopt
from topoopt.base.errors import Infeasible
from topoopt.plugins.exports import FORMATS, Deployment, deployment
from topoopt.routing import make_routes

_PREFIX = r"(\d{1,3}\.){3}\d{1,3}/\d{1,2}"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["LOOPBACK_INTERFACE", "INTERFACE", "STATIC_ROUTE"],
    "properties": {
        "LOOPBACK_INTERFACE": {
            "patternProperties": {rf"^Loopback\d+(\|{_PREFIX})?$": {"type": "object", "maxProperties": 0}},
            "additionalProperties": False,
        },
        "INTERFACE": {
            "patternProperties": {rf"^Ethernet\d+(\|{_PREFIX})?$": {"type": "object", "maxProperties": 0}},
            "additionalProperties": False,
        },
        "STATIC_ROUTE": {
            "patternProperties": {
                rf"^default\|{_PREFIX}$": {
                    "type": "object",
                    "required": ["nexthop", "ifname", "distance"],
                    "additionalProperties": False,
                    "properties": {
                        "nexthop": {"pattern": r"^((\d{1,3}\.){3}\d{1,3},?)+$"},
                        "ifname": {"pattern": r"^(Ethernet\d+,?)+$"},
                        "distance": {"pattern": r"^(\d{1,3},?)+$"},
                    },
                }
            },
            "additionalProperties": False,
        },
    },
}
"""Of the tables of SONiC's configuration that are written: key, and comma lists of equal length."""


@pytest.fixture(scope="module")
def made(twelve: topoopt.Plan) -> Deployment:
    """The plan by one shortest path a pair, which destinations alone can say."""
    routes = make_routes("single-shortest", twelve.fabric.topology)
    return deployment(replace(twelve, fabric=replace(twelve.fabric, routes=routes)))


def test_every_route_of_every_server_is_there(made: Deployment) -> None:
    assert made.tables.kind == "destination"
    files = FORMATS["sonic-routes"].write(made)
    ports = {
        (row["server"], row["interface"]): row["sonic_port"]
        for row in csv.DictReader(io.StringIO(str(files["ports.csv"])))
    }
    for network in made.networks:
        config = json.loads(str(files[f"{network.name}/config_db.json"]))
        jsonschema.validate(config, SCHEMA)
        assert len(config["STATIC_ROUTE"]) == len(network.main) == 11
        for route in network.main:
            said = config["STATIC_ROUTE"][f"default|{route.address}/32"]
            assert said["nexthop"].split(",") == [hop.via for hop in route.hops]
            assert said["ifname"].split(",") == [ports[network.name, hop.interface] for hop in route.hops]
            assert set(said["distance"].split(",")) == {"0"}
        for one in network.interfaces:
            for address in one.addresses:
                assert f"{ports[network.name, one.name]}|{address}" in config["INTERFACE"]
    assert ports["srv000", "ens1f1"] == "Ethernet4"


def test_names_of_sonic_are_kept(made: Deployment) -> None:
    named = [
        replace(
            server,
            interfaces=tuple(replace(x, name=f"Ethernet{8 * k}") for k, x in enumerate(server.interfaces)),
        )
        for server in made.inventory.servers
    ]
    there = replace(made, inventory=replace(made.inventory, servers=tuple(named), cables=()))
    files = FORMATS["sonic-routes"].write(there)
    assert "srv000,Ethernet24,Ethernet24" in str(files["ports.csv"])


def test_tables_by_source_are_refused(twelve: topoopt.Plan) -> None:
    with pytest.raises(Infeasible, match=r"by destination only; tables by source: \d+ of"):
        FORMATS["sonic-routes"].write(deployment(twelve))


def test_weights_are_refused(twelve: topoopt.Plan) -> None:
    """Next hops of 1, 2, … ports behind them have as many shares: ECMP on a wiring with a double link has weights."""
    routes = make_routes("ecmp", twelve.fabric.topology)
    even = deployment(replace(twelve, fabric=replace(twelve.fabric, routes=routes)))
    assert even.tables.kind == "destination"
    assert FORMATS["sonic-routes"].write(even)
    share = even.tables.share.copy()
    split = next(
        entry
        for entry in range(len(even.tables))
        if even.tables.hop_first[entry + 1] - even.tables.hop_first[entry] == 2
    )
    first = even.tables.hop_first[split]
    share[first : first + 2] = 0.25, 0.75
    odd = replace(even)
    object.__setattr__(odd, "tables", replace(even.tables, share=share))
    with pytest.raises(Infeasible, match="have no weights; export with paths=pinned"):
        FORMATS["sonic-routes"].write(odd)
