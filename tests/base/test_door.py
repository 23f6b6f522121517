"""Every answer shows its page, in a shell and in a notebook."""

from importlib import import_module
from typing import get_origin, get_type_hints

import pytest

import topoopt
from topoopt.base import plugins
from topoopt.base.answers import shows_itself
from topoopt.pages.answer_page import PAGES

ALL_PAGES = {name: f"topoopt.pages.{place.replace('.', ':')}" for name, place in PAGES.items()} | dict(
    plugins.OWN[plugins.PAGES]
)


def described_by(place: str) -> type:
    """The kind of answer that a page is of."""
    module, _, function = place.partition(":")
    page = getattr(import_module(module), function)
    kind = next(iter(get_type_hints(page).values()))
    kind = get_origin(kind) or kind
    assert isinstance(kind, type)
    return kind


@pytest.mark.parametrize(("answer", "place"), ALL_PAGES.items(), ids=list(ALL_PAGES))
def test_an_answer_with_a_page_shows_it(answer: str, place: str) -> None:
    kind = described_by(place)
    assert kind.__name__ == answer
    for name in ("__str__", "__repr__", "_repr_html_"):
        assert getattr(kind, name).__qualname__.startswith(shows_itself.__name__), f"{kind.__name__}.{name}"


def test_an_answer_is_its_page() -> None:
    network = topoopt.topology(servers=16, degree=4)
    assert str(network) == topoopt.page_text(topoopt.page_of(network)).strip("\n")
