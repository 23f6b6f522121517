"""Charts as data: every renderer reads the same ones.

A chart holds numbers and words only. One renderer draws it for the screen, another for paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageBox:
    """One stage.

    Attributes
    ----------
    lines : tuple of str
        Contents, computation and placement of the stage.
    busy_s : float
        Computing time per micro-batch; the boxes show it beside that of the slowest stage.
    """

    name: str
    lines: tuple[str, ...]
    busy_s: float


@dataclass(frozen=True, slots=True)
class StagesChart:
    """Stages from left to right.

    Attributes
    ----------
    name : str
        Stem of the file that it is drawn to.
    sends_bytes : tuple of float
        Bytes from each stage to the next, per micro-batch.
    back : str
        Label of the arrow from the last stage to the first; empty where there is none.
    """

    name: str
    title: str
    stages: tuple[StageBox, ...]
    sends_bytes: tuple[float, ...]
    back: str = ""
    note: str = ""


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
        Kinds of all arcs, including possible ones, so that charts beside each other have the same colors.
    circles : tuple of (radius, name)
        Thin lines all around.
    ticks : tuple of (degrees, text)
        Labels around the circle.
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


Value = float | str


@dataclass(frozen=True, slots=True)
class Series:
    """One line, cloud of points or row of bars.

    Attributes
    ----------
    x, y : tuple
        Equally long. NaN in ``y`` leaves a gap; x may be words.
    published : bool
        A published value, not ours: drawn hollow, to be clearly distinguished.
    joined : bool
        Whether points are joined by a line.
    stepped : bool
        Whether the line keeps a value until the next point, as a cumulative distribution does.
    marked : bool
        Whether points of a line have marks; a line that only guides the eye has none.
    labels : tuple of str
        Tooltip of each point; empty for none.
    names : tuple of str
        Texts beside the points, with leaders where it is crowded; a point may have an empty one.
    ringed : bool
        Whether every point has a ring around it.
    """

    name: str
    x: tuple[Value, ...]
    y: tuple[float, ...]
    published: bool = False
    joined: bool = True
    stepped: bool = False
    labels: tuple[str, ...] = ()
    marked: bool = True
    names: tuple[str, ...] = ()
    ringed: bool = False

    def __post_init__(self) -> None:
        assert len(self.x) == len(self.y), f"series {self.name}: {len(self.x)} x for {len(self.y)} y"
        assert len(self.labels) in (0, len(self.x)), f"series {self.name}: {len(self.labels)} labels"
        assert len(self.names) in (0, len(self.x)), f"series {self.name}: {len(self.names)} names"


@dataclass(frozen=True, slots=True)
class Limit:
    """A value that data are compared with, such as the memory that an accelerator has: a line across the chart."""

    value: float
    name: str


def categories(series: Sequence[Series]) -> list[str]:
    """Return the categories on the x axis, in order of first occurrence."""
    return list(dict.fromkeys(str(x) for one in series for x in one.x))


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines and points over two axes.

    Attributes
    ----------
    name : str
        Stem of the file that it is drawn to.
    x_label, y_label : str
        Labels with the unit of the data in parentheses or after a comma; ticks use a suitable prefix.
    x_from_zero, y_from_zero : bool
        Whether an axis that is not logarithmic begins at zero, though the data do not.
    limits, x_limits : tuple of Limit
        Limits on the y axis, and on the x axis.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    note: str = ""
    x_from_zero: bool = False
    y_from_zero: bool = False
    limits: tuple[Limit, ...] = ()
    x_limits: tuple[Limit, ...] = ()

    @property
    def words(self) -> list[str]:
        """Categories below the x axis, empty for numbers."""
        has_words = any(isinstance(x, str) for one in self.series for x in one.x)
        return categories(self.series) if has_words else []


@dataclass(frozen=True, slots=True)
class BarChart:
    """Bars of several series beside each other, or on top of each other; x are the categories."""

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    stacked: bool = False
    horizontal: bool = False
    y_log: bool = False
    note: str = ""
    limits: tuple[Limit, ...] = ()

    @property
    def words(self) -> list[str]:
        """The categories."""
        return categories(self.series)

    @property
    def beside(self) -> int:
        """Number of bars beside each other in a category."""
        return 1 if self.stacked else max(len(self.series), 1)


@dataclass(frozen=True, slots=True)
class HeatmapChart:
    """A matrix as colors; row 0 on top.

    Attributes
    ----------
    values : tuple of rows
        ``values[y][x]``.
    value_label : str
        Quantity shown by the colors, with its unit.
    value_range : tuple of (low, high), optional
        Values of the lightest and the darkest color, for maps that share a scale; by default those of the map.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    value_label: str
    values: tuple[tuple[float, ...], ...]
    value_log: bool = False
    note: str = ""
    value_range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a timeline, in seconds.

    Attributes
    ----------
    lane : int
        The row, or the first of them.
    kind : str
        Bars of a kind have one color.
    lanes : int
        Height in rows.
    name : str
        Text in the bar, where there is room.
    """

    lane: int
    start_s: float
    finish_s: float
    kind: str
    label: str = ""
    lanes: int = 1
    name: str = ""


@dataclass(frozen=True, slots=True)
class TimelineChart:
    """Bars over time, in lanes from the top down; the renderer chooses ms, s or h.

    Attributes
    ----------
    lanes : tuple of str
        Their names; empty where they are numbered, as servers are.
    count : int
        Number of numbered lanes; 0 for those that have bars.
    until_s : float
        End of the time axis, for charts that share one from zero; 0 for that of the bars.
    """

    name: str
    title: str
    y_label: str
    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    note: str = ""
    count: int = 0
    until_s: float = 0.0

    @property
    def height(self) -> int:
        """Number of lanes."""
        return len(self.lanes) or self.count or max((bar.lane + bar.lanes for bar in self.bars), default=1)

    @property
    def by_kind(self) -> dict[str, list[Bar]]:
        """The bars of each color."""
        kinds: dict[str, list[Bar]] = {}
        for bar in self.bars:
            kinds.setdefault(bar.kind, []).append(bar)
        return kinds

    @property
    def span_s(self) -> tuple[float, float]:
        """Begin and end of the time axis: from zero where it is shared, or where the bars come near to it."""
        first_s = min((bar.start_s for bar in self.bars), default=0.0)
        end_s = self.until_s or max((bar.finish_s for bar in self.bars), default=1.0) or 1.0
        return (0.0 if self.until_s or first_s <= 0.25 * end_s else first_s), end_s


@dataclass(frozen=True, slots=True)
class RingLine:
    """A closed walk over the nodes of a circle, with its label and the group of its servers, if there are several."""

    name: str
    walk: tuple[int, ...]
    group: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """Paths of an ordered pair: ``(weight, nodes)`` of each path, the weights sum to 1."""

    src: int
    dst: int
    paths: tuple[tuple[float, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class CircleChart:
    """A topology on a circle: server 0 on top, the others clockwise, switches inside; of many servers unrolled.

    Attributes
    ----------
    links : tuple of (src, dst, ports, bytes)
        Directed, of one iteration.
    rings : tuple of RingLine
        Rings of the AllReduce groups, the widest group first.
    routes : tuple of Route
        Routes of the pairs that can be selected.
    turned : bool
        Whether the routes are those of server 0; the routes of the others are the same, rotated.
    """

    name: str
    title: str
    servers: int
    nodes: int
    links: tuple[tuple[int, int, int, float], ...]
    rings: tuple[RingLine, ...]
    routes: tuple[Route, ...] = ()
    turned: bool = False
    note: str = ""


Chart = LineChart | BarChart | HeatmapChart | TimelineChart | CircleChart | PolarChart | StagesChart
