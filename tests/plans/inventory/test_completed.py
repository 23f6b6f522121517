"""The rule by which an inventory is made up, in its own words."""

from topoopt.finder.rewiring import Patch, Wiring
from topoopt.plans.inventory import circuits, completed


def test_servers_interfaces_and_panels_are_named_by_the_rule() -> None:
    made = completed(Wiring("duplex", 4), 20)
    assert [made.servers[number].name for number in (0, 19)] == ["srv000", "srv019"]
    assert [(one.rack, one.position) for one in (made.servers[15], made.servers[16])] == [
        ("rack01", 31),
        ("rack02", 1),
    ]
    assert [one.name for one in made.servers[3].interfaces] == ["ens1f0", "ens1f1", "ens2f0", "ens2f1"]
    assert [(one.name, one.ports) for one in made.panels] == [(f"panel{k}", 20) for k in (0, 1, 2, 3)]
    assert [(one.id, one.server, one.interface, one.panel, one.port) for one in made.cables[4:6]] == [
        ("C0005", "srv001", "ens1f0", "panel0", 2),
        ("C0006", "srv001", "ens1f1", "panel1", 2),
    ]


def test_interfaces_that_share_a_panel_are_side_by_side_on_it() -> None:
    made = completed(Wiring("duplex", 3, interfaces_per_panel=2), 5)
    assert [one.ports for one in made.panels] == [10, 5]
    assert [(one.panel, one.port) for one in made.cables[3:6]] == [
        ("panel0", 3),
        ("panel0", 4),
        ("panel1", 2),
    ]


def test_the_fibers_of_an_interface_take_the_halves_of_one_port() -> None:
    made = completed(Wiring("directed", 2), 3)
    assert [(one.id, one.side, one.panel, one.port) for one in made.cables[:3]] == [
        ("C0001", "out", "panel0", 1),
        ("C0002", "in", "panel0", 1),
        ("C0003", "out", "panel1", 1),
    ]


def test_a_patch_is_a_circuit_between_two_cables() -> None:
    wiring = Wiring("directed", 1, patches=(Patch(0, 0, 1, 0), Patch(1, 0, 0, 0)))
    there, back = circuits(completed(wiring, 2), wiring, wiring.patches)
    assert (there.id, there.port_a, there.port_b) == ("panel0:1>2", 1, 2)
    assert (back.id, back.cable_a.id, back.cable_b.id) == ("panel0:2>1", "C0003", "C0002")
