"""The noun of a polar chart: what happens when, on circles around which time goes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arc:
    """A piece of a ring.

    Attributes
    ----------
    start_deg, width_deg : float
        Clockwise from the top.
    inner, outer : float
        Radii; that of the chart is 1.
    kind : str
        Arcs of a kind have one color.
    """

    start_deg: float
    width_deg: float
    inner: float
    outer: float
    kind: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class PolarChart:
    """Arcs around a center.

    Attributes
    ----------
    name : str
        Stem of the file that it is drawn to.
    kinds : tuple of str
        Of all arcs, and of those that there might be, so that charts beside each other have the same colors.
    circles : tuple of (radius, name)
        Thin lines all around.
    ticks : tuple of (degrees, text)
        What stands around it.
    """

    name: str
    title: str
    kinds: tuple[str, ...]
    arcs: tuple[Arc, ...]
    circles: tuple[tuple[float, str], ...]
    ticks: tuple[tuple[float, str], ...]
    note: str = ""

    @property
    def by_kind(self) -> dict[str, list[Arc]]:
        """The arcs of each color."""
        kinds: dict[str, list[Arc]] = {kind: [] for kind in self.kinds}
        for arc in self.arcs:
            kinds[arc.kind].append(arc)
        return kinds
