"""A page as text."""

import pytest

from topoopt.pages import Page, page_text


def test_a_page_as_text_is_text_in_a_notebook_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """There rich would show the page instead, below whatever cell asks for a plan's text."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert page_text(Page("plan", "dlrm-16", "", (), (), ())).strip() == "dlrm-16"
