"""TopoOpt: servers cabled directly through patch panels, wired for the job."""

from typing import Any

from topoopt import finder
from topoopt.catalog import OWN, Network
from topoopt.pricing import FabricPrice, behind_panels, of_technologies
from topoopt.topologies import moore_average_hops

TECHNOLOGIES = ("patch-panel",)


def build(request: Any) -> Any:
    """Return the circulant or the wiring that the request names."""
    return finder.stride_fabric(request)


NETWORK = Network(
    name=OWN,
    label="TopoOpt",
    description="patch panels",
    price=FabricPrice(count=behind_panels, realize=of_technologies(TECHNOLOGIES), optics=TECHNOLOGIES),
    build=build,
    settings=frozenset({"strides", "wiring"}),
    relays=True,
    panels=True,
    mean_hops=moore_average_hops,
    compared=True,
    color=0,
    order=0,
)
