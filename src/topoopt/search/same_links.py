"""Whether two fabrics are wired alike."""

import numpy as np

from topoopt.routing import Fabric


def same_links(a: Fabric, b: Fabric) -> bool:
    """Return whether two fabrics are wired alike, parallel links included."""
    return all(
        np.array_equal(getattr(a.topology, column), getattr(b.topology, column))
        for column in ("src", "dst", "ports")
    )
