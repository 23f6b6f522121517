"""Every answer shows its page, in a shell and in a notebook."""

import pytest

import topoopt
from topoopt.door import shows_itself
from topoopt.report.answer_page import PAGES


@pytest.mark.parametrize("kind", PAGES, ids=lambda kind: kind.__name__)
def test_an_answer_with_a_page_shows_it(kind: type) -> None:
    for name in ("__str__", "__repr__", "_repr_html_"):
        assert getattr(kind, name).__qualname__.startswith(shows_itself.__name__), f"{kind.__name__}.{name}"


def test_an_answer_is_its_page() -> None:
    network = topoopt.topology(servers=16, degree=4)
    assert repr(network) == str(network) == topoopt.page_text(topoopt.page_of(network)).strip("\n")
