"""What a command prints as JSON, to stand beside what the verb of its name answers in Python."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from topoopt.frontends.cli import main

Printed = Callable[..., Any]


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    def run(*words: str) -> Any:
        capsys.readouterr()
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def as_json(document: Mapping[str, Any]) -> Any:
    """Return a mapping as it is after it was written and read."""
    return json.loads(json.dumps(document))
