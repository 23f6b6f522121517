"""The fabrics that a sweep knows: topoopt's own, and every baseline under a name of its own."""

from collections.abc import Mapping

from topoopt.search import BASELINES, BaselineRule

OWN = "topoopt"


def _names() -> dict[str, BaselineRule | None]:
    known: dict[str, BaselineRule | None] = {OWN: None}
    for fabric, (first, *more) in BASELINES.items():
        known[fabric] = first
        assert len(more) <= 1, f"{fabric}: a second rule is the one by price; what is the third?"
        known |= {f"{fabric}-priced": rule for rule in more}
    return known


SWEPT_FABRICS: Mapping[str, BaselineRule | None] = _names()
"""By name; None for the found topology. ``fat-tree`` has the paper's bandwidth, ``fat-tree-priced`` that which the
price of TopoOpt buys."""
