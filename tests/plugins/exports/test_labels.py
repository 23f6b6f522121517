"""Two labels a cable, each inside its place on the sheet."""

import csv
import io
from pathlib import Path

import pytest

import topoopt
from tests.plugins.exports.pdf import objects, size, texts

MM = 72 / 25.4
SHEETS = {
    # width, height, columns, rows, label, margins, gap: all in mm, as the makers of the sheets draw them
    "labels-a4.pdf": (210.0, 297.0, 5, 13, 38.1, 21.2, 4.75, 10.7, 40.6),
    "labels-letter.pdf": (215.9, 279.4, 4, 20, 44.45, 12.7, 7.62, 12.7, 52.07),
}


@pytest.fixture(scope="module")
def files(plan: topoopt.Plan) -> dict[str, str | bytes]:
    return topoopt.export(plan, format="labels").files


def rows(files: dict[str, str | bytes]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(str(files["labels.csv"]))))


def test_each_cable_has_a_label_at_either_end(files: dict[str, str | bytes]) -> None:
    listed = rows(files)
    assert len(listed) == 128
    for server, panel in zip(listed[::2], listed[1::2], strict=True):
        assert server["cable"] == panel["cable"] == server["line1"]
        assert (server["end"], panel["end"]) == ("server", "panel")
        assert (server["line3"], panel["line3"]) == (f"to {panel['line2']}", f"to {server['line2']}")
    assert list(listed[10].values())[2:] == ["C0006", "srv001 ens1f1", "to panel1 port 2", "rack01 unit 3"]
    assert len({row["cable"] for row in listed}) == 64


@pytest.mark.parametrize("name", SHEETS)
def test_every_line_of_a_sheet_is_inside_its_label(files: dict[str, str | bytes], name: str) -> None:
    data = files[name]
    assert isinstance(data, bytes)
    wide, high, columns, lines, label, tall, left, top, pitch = SHEETS[name]
    ((width, height),) = size(data)
    assert [width, height] == pytest.approx([wide * MM, high * MM], abs=0.01)
    shown = texts(data)
    each = columns * lines
    assert max(one.page for one in shown) + 1 == -(-128 // each)
    expected = [row[f"line{k}"] for row in rows(files) for k in (1, 2, 3, 4)]
    assert [one.text for one in shown] == expected
    for place, one in enumerate(shown):
        page, here = divmod(place // 4, each)
        down, across = divmod(here, columns)
        x, above = (left + across * pitch) * MM, (high - top - down * tall) * MM
        assert one.page == page
        assert x < one.x
        assert one.x + 0.6 * one.size * len(one.text) < x + label * MM
        assert above - tall * MM < one.y - 0.2 * one.size
        assert one.y + 0.8 * one.size < above


def test_long_names_become_smaller_and_are_cut_at_last(plan: topoopt.Plan, tmp_path: Path) -> None:
    names = [f"a-server-with-a-very-long-name-{number:02}" for number in range(15)] + ["x" * 60]
    (tmp_path / "room.yaml").write_text("servers:\n" + "\n".join(f"- name: {name}" for name in names))
    data = topoopt.export(plan, format="labels", inventory=tmp_path / "room.yaml").files["labels-a4.pdf"]
    assert isinstance(data, bytes)
    assert {one.size for one in texts(data) if one.text == "to panel0 port 1"} == {8.0}
    cut = [one for one in texts(data) if one.text.endswith("...")]
    assert cut
    assert {4.5 <= one.size < 4.7 for one in cut} == {True}
    assert max(0.6 * one.size * len(one.text) for one in cut) < (38.1 - 2) * MM


def test_equal_labels_are_equal_bytes(plan: topoopt.Plan, files: dict[str, str | bytes]) -> None:
    assert topoopt.export(plan, format="labels").files == files


def test_brackets_in_names_are_text(tmp_path: Path) -> None:
    """Written by the same means, with all that PDF gives a meaning to."""
    from topoopt.plugins.exports.cabling import Line, pdf_pages  # noqa: PLC0415 - not of the room's face

    data = pdf_pages(100, 50, [[Line(1, 2, 6, r"a(b)\c é", bold=True)], []])
    assert [(one.page, one.font, one.text) for one in texts(data)] == [(0, "F2", r"a(b)\c é")]
    assert len(objects(data)) == 8
