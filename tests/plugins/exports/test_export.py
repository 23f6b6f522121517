"""``topoopt.export``: the door to every format."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import topoopt
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder import FabricRequest, build_fabric
from topoopt.plugins.exports import FORMATS, ExportFormat

ROOM = Path(__file__).parents[3] / "examples" / "room.yaml"


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_what_it_is_and_who_reads_it(name: str) -> None:
    row = FORMATS[name]
    assert row.name == name
    assert all((row.text, row.files, row.consumer))


def test_the_files_of_one_format_are_in_the_folder_itself(plan: topoopt.Plan, tmp_path: Path) -> None:
    answer = topoopt.export(plan, format="patch-list", out=tmp_path / "d")
    assert (tmp_path / "d" / "patch-list.csv").read_text() == answer.files["patch-list.csv"]


def test_of_all_formats_those_that_refuse_are_named(
    plan: topoopt.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(deployment: object) -> dict[str, str]:
        raise Infeasible("it is Monday")

    odd = ExportFormat("odd", "never", "odd.txt", "nobody", refuse)
    monkeypatch.setattr(sys.modules["topoopt.plugins.exports.answer"], "FORMATS", {**FORMATS, "odd": odd})
    answer = topoopt.export(plan)
    assert ("odd", "it is Monday") in [(one.format.name, one.reason) for one in answer.refused]
    assert "patch-list/patch-list.csv" in answer.files
    with pytest.raises(Infeasible, match="odd: it is Monday"):
        topoopt.export(plan, format="odd")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"format": "patch-lst"}, 'format: unknown name "patch-lst"; did you mean patch-list'),
        ({"format": ()}, "format: name one or several of "),
        ({"panels": "Polatis"}, 'panels: unknown name "Polatis"; did you mean polatis'),
        ({"keep_running": True}, "keep_running: is of what is wired now; give present=PLAN, too"),
        (
            {"panels": "calient", "inventory": ROOM},
            "panels: the inventory says what panels are, got calient; leave it out",
        ),
        ({"inventory": ROOM.parent / "wirings"}, "wirings: is a directory, expected a file"),
        ({"out": ""}, "out: expected the name of a folder, got nothing"),
        ({"present": "gone.json"}, "gone.json: no such file"),
    ],
)
def test_a_mistake_is_one_line(plan: topoopt.Plan, words: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        topoopt.export(plan, **words)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_plan_on_switches_is_refused(plan: topoopt.Plan) -> None:
    switch = replace(plan, fabric=build_fabric("ideal-switch", FabricRequest(16, 4, 100e9)))
    with pytest.raises(InvalidInput, match="expected one of fixed links from server to server"):
        topoopt.export(switch)


def test_an_inventory_may_be_given_as_it_was_answered(plan: topoopt.Plan) -> None:
    inventory: topoopt.Inventory = topoopt.export(
        plan, format="inventory", inventory=ROOM
    ).deployment.inventory
    again = topoopt.export(plan, format="inventory", inventory=inventory)
    assert again.deployment.inventory == inventory
    assert inventory.servers[3].name == "gpu-a04"


def test_progress_is_told_by_format(plan: topoopt.Plan) -> None:
    told: list[tuple[str, int, int]] = []
    topoopt.export(plan, format=("labels", "netbox"), on_progress=lambda *stage: told.append(stage))
    assert told[-2:] == [("writing labels", 0, 2), ("writing netbox", 1, 2)]
