"""The noun ServingComparison: a served model on every fabric, in closed form."""

from dataclasses import dataclass

from topoopt.inference.fabrics.compared import ServedFabric


@dataclass(frozen=True, eq=False, slots=True)
class ServingComparison:
    """A served model on several fabrics.

    Attributes
    ----------
    fabrics : tuple of ServedFabric
    skipped : tuple of (fabric, reason)
    deployments : int
        That were looked at; 1 where it was given.
    """

    fabrics: tuple[ServedFabric, ...]
    skipped: tuple[tuple[str, str], ...]
    deployments: int
