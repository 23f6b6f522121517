"""Flags of ``topoopt llm`` name the tables that their values come from."""

from typing import get_type_hints

from topoopt.cli.llm.arguments import ConfigurationArguments
from topoopt.hardware import PRECISIONS
from topoopt.llm import RECOMPUTATIONS


def test_flags_name_their_tables() -> None:
    hints = get_type_hints(ConfigurationArguments, include_extras=True)
    words = {name: hints[name].__metadata__[0].metavar.split("|") for name in ("recompute", "precision")}
    assert tuple(words["recompute"]) == RECOMPUTATIONS
    assert set(words["precision"]) <= set(PRECISIONS)
