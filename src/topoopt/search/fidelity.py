"""The noun Fidelity: by which simulator an iteration is timed, and with which of its options."""

from dataclasses import dataclass, field, replace

from topoopt.routing import Fabric
from topoopt.simulate import SimulationOptions


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A simulator's name, and its options."""

    simulator: str = "analytic"
    options: SimulationOptions = field(default_factory=SimulationOptions)

    def on(self, fabric: Fabric) -> "Fidelity":
        """Return what can follow the fabric: flows where circuits change, which ``analytic`` cannot."""
        changes = fabric.reconfiguration is not None and self.simulator == "analytic"
        return replace(self, simulator="flow") if changes else self


ANALYTIC = Fidelity()
