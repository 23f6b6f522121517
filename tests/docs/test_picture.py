"""The picture of the README is what its script draws, with numbers that are computed."""

import importlib.util
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "pictures" / "draw_topology.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("draw_topology", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_picture_is_the_drawn_one(script: ModuleType) -> None:
    assert script.PICTURE.read_text(encoding="utf-8") == script.draw()


def test_the_picture_shows_the_diameter_of_the_two_rings(script: ModuleType) -> None:
    """16 servers on strides 1 and 5: 4 hops at most and 2.133 on average (the TopoOpt authors' demo topology)."""
    assert "at most 4 hops, 2.13 on average" in script.draw()
    assert len(script.farthest_walk()) == 5


def test_every_server_stands_in_every_circle(script: ModuleType) -> None:
    drawn = ElementTree.fromstring(script.draw())
    circles = drawn.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 3 * script.SERVERS
