"""What of a configuration is not searched because it is given, checked field by field."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from topoopt.base.limits import whole
from topoopt.transformers.configuration import COUNTS, COUNTS_FROM_ZERO, Configuration
from topoopt.transformers.search.choices import Choices

BESIDE = ("global_batch", "sequence", "precision")
"""Fields that a request for a search has of its own."""


def fixed_fields(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words that fix a field of :class:`~topoopt.transformers.Configuration`, and leave out all others.

    Of what no search varies only that is returned that is not usual.

    Raises
    ------
    InvalidInput
        For a value that the field cannot have.

    Examples
    --------
    >>> fixed_fields({"tp": 8, "context": "ring", "accelerators": 64})
    {'tp': 8}
    """
    usual = {column.name: column.default for column in fields(Configuration)}
    searched = {column.name for column in fields(Choices)}
    given = {name: words[name] for name in usual if name in words and name not in BESIDE}
    for names, least in ((COUNTS, 1), (COUNTS_FROM_ZERO, 0)):
        for name in filter(given.__contains__, names):
            whole(name, given[name], least)
    Configuration(**{"tp": 1, "pp": 1, "dp": 1, "global_batch": 1, "sequence": 1, **given})
    return {name: value for name, value in given.items() if name in searched or value != usual[name]}
