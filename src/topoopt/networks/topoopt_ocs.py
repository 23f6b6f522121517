"""TopoOpt behind optical circuit switches, which wire the next job by themselves."""

from topoopt.catalog import OWN, Network
from topoopt.pricing import FabricPrice, behind_circuit_switches, of_technologies

TECHNOLOGIES = ("3d-mems", "piezo")

NETWORK = Network(
    name="topoopt-ocs",
    label="TopoOpt, OCS",
    description="optical circuit switches in place of panels",
    price=FabricPrice(
        count=behind_circuit_switches, realize=of_technologies(TECHNOLOGIES), optics=TECHNOLOGIES
    ),
    timed_as=OWN,
    relays=True,
    compared=True,
    order=10,
)
