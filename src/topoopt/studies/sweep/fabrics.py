"""The fabrics that a sweep knows: topoopt's own, and every baseline under a name of its own."""

from collections.abc import Mapping

from topoopt.search import BASELINE_RULES, BaselineRule

OWN = "topoopt"

SWEPT_FABRICS: Mapping[str, BaselineRule | None] = {OWN: None, **BASELINE_RULES}
"""By name; None for the found topology."""
