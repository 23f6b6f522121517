"""One loop for all comparisons of networks: rows in order, reasons beside them, and errors that end it."""

import pytest

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import NetworkRow, compare


def evaluate(servers: int) -> NetworkRow:
    if servers % 2:
        raise InvalidInput(f"torus: {servers} servers are no grid")
    return NetworkRow("torus", "a grid", servers * 1e11, variant=f"{servers} servers")


def test_a_network_that_cannot_be_evaluated_is_skipped_with_the_reason() -> None:
    told: list[tuple[str, int, int]] = []
    table = compare(
        (4, 5, 6),
        evaluate,
        lambda servers: f"torus of {servers}",
        on_progress=lambda *row: told.append(row),
        stage="simulating {}",
    )
    assert [row.name for row in table.rows] == ["torus (4 servers), 400 Gb/s", "torus (6 servers), 600 Gb/s"]
    assert table.skipped == (("torus of 5", "torus: 5 servers are no grid"),)
    assert told == [(f"simulating torus of {servers}", place, 3) for place, servers in enumerate((4, 5, 6))]


def test_every_verb_names_a_network_by_the_same_keys() -> None:
    assert evaluate(4).network_json() == {
        "fabric": "torus",
        "description": "a grid",
        "server_bandwidth_bps": 4e11,
        "variant": "4 servers",
        "cost_usd": None,
        "power_w": None,
        "cost_parts_usd": {},
        "label": "torus (4 servers)",
    }


def test_an_error_of_a_required_network_ends_the_comparison() -> None:
    with pytest.raises(InvalidInput, match="5 servers are no grid"):
        compare((4, 5), evaluate, required=True)
    with pytest.raises(InvalidInput, match="5 servers are no grid"):
        compare((4, 5), evaluate, required=lambda servers: servers == 5)
    assert compare((3, 4), evaluate, required=lambda servers: servers == 5).skipped[0][0] == "3"


def test_no_row_is_an_error_with_every_reason() -> None:
    with pytest.raises(Infeasible, match=r"fabrics: no network is left: 3: torus: 3 .*; 5: torus: 5 "):
        compare((3, 5), evaluate).or_infeasible("fabrics")
