"""The noun Fidelity: by which simulator an iteration is timed, and with which of its options."""

from dataclasses import dataclass, field, replace

from topoopt.collectives import QUICKEST, RING
from topoopt.plans import Outcome
from topoopt.routing import Fabric
from topoopt.simulation import SimulationOptions


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A simulator's name, its options, and gradient buckets of which sizes are tried when all else is settled."""

    simulator: str = "analytic"
    options: SimulationOptions = field(default_factory=SimulationOptions)
    bucket_sizes: tuple[int, ...] = ()

    def on(self, fabric: Fabric) -> "Fidelity":
        """Return what can follow the fabric: flows where circuits change, which ``analytic`` cannot."""
        changes = fabric.reconfiguration is not None and self.simulator == "analytic"
        return replace(self, simulator="flow") if changes else self

    @property
    def of_search(self) -> "Fidelity":
        """The same without what is settled when all else is: with rings where algorithms are chosen by message."""
        options = self.options
        if options.algorithm == QUICKEST:
            options = replace(options, algorithm=RING)
        return replace(self, options=options, bucket_sizes=())


def as_settled(options: SimulationOptions, outcome: Outcome) -> SimulationOptions:
    """Return the options, of an algorithm for each message those of rings where an outcome is of rings."""
    rings = options.algorithm == QUICKEST and not outcome.algorithms
    return replace(options, algorithm=RING) if rings else options


ANALYTIC = Fidelity()
