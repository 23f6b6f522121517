"""What each panel of a kind is told, step by step: which circuits go and which come, and which there are at last."""

from dataclasses import dataclass

from topoopt.base.errors import Infeasible
from topoopt.finder.rewiring import Step
from topoopt.plans.inventory import Circuit, Panel, circuits
from topoopt.plugins.exports.deployment import Deployment

Path = tuple[int, int]
"""Ports that light goes between, in this direction: in at the first, out at the second."""


@dataclass(frozen=True, slots=True)
class PanelStep:
    """What is changed on one panel at once: first all circuits go, then all come."""

    number: int
    gone: tuple[Circuit, ...]
    come: tuple[Circuit, ...]


@dataclass(frozen=True, slots=True)
class PanelSteps:
    """The circuits of a plan on one panel, and the way there from what is joined now."""

    panel: Panel
    circuits: tuple[Circuit, ...]
    steps: tuple[PanelStep, ...]


def steps_of_kind(deployment: Deployment, kind: str, most_ports: int | None = None) -> tuple[PanelSteps, ...]:
    """Return what each panel of a kind is told.

    Parameters
    ----------
    most_ports : int, optional
        Of the largest device of that kind.

    Raises
    ------
    Infeasible
        If no panel is of that kind, or one has more ports than any device.
    """
    panels = [panel for panel in deployment.inventory.panels if panel.kind == kind]
    if not panels:
        others = ", ".join(sorted({panel.kind for panel in deployment.inventory.panels}))
        raise Infeasible(
            f"no panel is {kind}, they are {others}; say so in the inventory, or with panels={kind}"
        )
    for panel in panels:
        if most_ports is not None and panel.ports > most_ports:
            raise Infeasible(
                f"{panel.name} has {panel.ports} ports, the largest {kind} device {most_ports}; use more panels"
            )
    return tuple(_steps(deployment, panel) for panel in panels)


def paths(some: tuple[Circuit, ...]) -> list[Path]:
    """Return the ways of light through circuits: of a duplex one there and back."""
    there = [(one.port_a, one.port_b) for one in some]
    return there + [(one.port_b, one.port_a) for one in some if one.duplex]


def _steps(deployment: Deployment, panel: Panel) -> PanelSteps:
    inventory = deployment.inventory
    order = (
        (Step((), deployment.wiring.patches, 1.0),) if deployment.order is None else deployment.order.steps
    )
    before = deployment.present or deployment.wiring
    steps = (
        PanelStep(
            number,
            _on(panel, circuits(inventory, before, step.unplug)),
            _on(panel, circuits(inventory, deployment.wiring, step.plug)),
        )
        for number, step in enumerate(order, 1)
    )
    changes = tuple(step for step in steps if step.gone or step.come)
    return PanelSteps(panel, _on(panel, deployment.circuits), changes)


def _on(panel: Panel, some: tuple[Circuit, ...]) -> tuple[Circuit, ...]:
    return tuple(one for one in some if one.panel == panel.name)
