"""The expander: servers cabled directly, as a random regular graph."""

from topoopt.catalog import Network
from topoopt.pricing import FabricPrice, cabled, realize_cables
from topoopt.topologies import expander, moore_average_hops

NETWORK = Network(
    name="expander",
    label="Expander",
    description="random d-regular graph, d·B a server",
    price=FabricPrice(count=cabled, realize=realize_cables),
    wire=expander,
    cabled=True,
    relays=True,
    mean_hops=moore_average_hops,
    compared=True,
    color=5,
    order=70,
)
