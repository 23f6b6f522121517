"""netplan's own generator takes every file, and networkd is told every address, route and rule."""

import configparser
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import topoopt
from topoopt.base.errors import Infeasible
from topoopt.plugins.exports import FORMATS, Deployment, deployment
from topoopt.plugins.exports.deployment import ServerNetwork


@pytest.fixture(scope="module")
def pinned(twelve: topoopt.Plan) -> Deployment:
    return replace(deployment(twelve), paths="pinned")


def routes(network: ServerNetwork) -> list[tuple[str, str, str, str]]:
    """Return interface, address, gateway and table of every route."""
    tables = {"": network.main} | {str(table.number): table.routes for table in network.tables}
    return sorted(
        (route.hops[0].interface, f"{route.address}/32", route.hops[0].via, number)
        for number, some in tables.items()
        for route in some
    )


def test_the_file_says_the_plan(pinned: Deployment) -> None:
    files = FORMATS["netplan"].write(pinned)
    for network in pinned.networks:
        document = yaml.safe_load(str(files[f"{network.name}/60-topoopt.yaml"]))["network"]
        assert (document["version"], document["renderer"]) == (2, "networkd")
        links = document["ethernets"]
        assert links.pop("lo") == {"addresses": [f"{one}/32" for one in network.identities]}
        assert {name: link["addresses"] for name, link in links.items()} == {
            one.name: list(one.addresses) for one in network.interfaces
        }
        assert {link["mtu"] for link in links.values()} == {9000}
        said = [
            (name, one["to"], one["via"], str(one.get("table", "")))
            for name, link in links.items()
            for one in link.get("routes", ())
        ]
        assert sorted(said) == routes(network)
        rules = [rule for link in links.values() for rule in link.get("routing-policy", ())]
        assert [(rule["from"], rule["table"]) for rule in rules] == [
            (table.source, table.number) for table in network.tables
        ]


def test_netplan_makes_networkds_files_of_it(pinned: Deployment, tmp_path: Path) -> None:
    if shutil.which("netplan") is None:
        pytest.skip("netplan is not installed (Debian: netplan.io)")
    files = FORMATS["netplan"].write(pinned)
    for network in pinned.networks:
        root = tmp_path / network.name
        (root / "etc" / "netplan").mkdir(parents=True)
        place = root / "etc" / "netplan" / "60-topoopt.yaml"
        place.write_text(str(files[f"{network.name}/60-topoopt.yaml"]))
        place.chmod(0o600)
        done = subprocess.run(
            ["netplan", "generate", "--root-dir", str(root)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        made = root / "run" / "systemd" / "network"
        found, rules = [], 0
        for one in network.interfaces:
            sections = _sections((made / f"10-netplan-{one.name}.network").read_text())
            rules += sum(kind == "RoutingPolicyRule" for kind, _ in sections)
            found += [
                (one.name, said["destination"], said["gateway"], said.get("table", ""))
                for kind, said in sections
                if kind == "Route"
            ]
        assert sorted(found) == routes(network)
        assert rules == len(network.tables)


def _sections(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the sections of a file of networkd, of which several have one name."""
    parts = ("\n" + text).split("\n[")[1:]
    found = []
    for part in parts:
        reader = configparser.ConfigParser(strict=False)
        reader.read_string("[" + part)
        found.append((reader.sections()[0], dict(reader[reader.sections()[0]])))
    return found


def test_what_netplan_cannot_say_is_refused(twelve: topoopt.Plan, directed_plan: topoopt.Plan) -> None:
    with pytest.raises(Infeasible, match="no routes of several next hops; export with paths=pinned"):
        FORMATS["netplan"].write(deployment(twelve))
    with pytest.raises(Infeasible, match="no static neighbors"):
        FORMATS["netplan"].write(replace(deployment(directed_plan), paths="pinned"))
