"""Figure 14: how many hops there are between servers, for the published wirings and for ours."""

from dataclasses import dataclass

from topoopt.finder import select_permutations
from topoopt.report import LineChart, Series
from topoopt.reproduction.figure import Comparison, Figure, Progress, Row, StudySettings
from topoopt.routing import CoinTable, coin_change_mod, coin_length_distribution
from topoopt.topology import stride_offsets

TITLE = "Path lengths of the wirings of 12, 16, 128 and 432 servers"
CODE = "wiring of the authors' released code; its hops follow from it"
PAPER = "wiring by the paper's Algorithm 3; its hops follow from it"
TESTBED = "the authors' testbed; its hops follow from the wiring"
THREE_DECIMALS = 0.0005


@dataclass(frozen=True, slots=True)
class PublishedWiring:
    """Strides that are known for some servers and degree, and the hops that they make."""

    servers: int
    degree: int
    links: str
    rule: str
    strides: tuple[int, ...]
    diameter: int
    average_hops: float
    origin: str

    @property
    def name(self) -> str:
        """What a reader sees."""
        return f"n={self.servers}, d={self.degree}, {self.links}, {self.rule}"


PUBLISHED = (
    PublishedWiring(12, 4, "duplex", "lower-bound", (1, 5), 3, 1.818, TESTBED),
    PublishedWiring(16, 3, "directed", "nearest", (1, 3, 7), 4, 2.267, PAPER),
    PublishedWiring(16, 4, "duplex", "lower-bound", (1, 5), 4, 2.133, CODE),
    PublishedWiring(128, 4, "duplex", "lower-bound", (1, 13), 10, 5.622, CODE),
    PublishedWiring(128, 4, "duplex", "nearest", (1, 11), 9, 5.480, PAPER),
    PublishedWiring(128, 4, "directed", "nearest", (1, 3, 11, 37), 8, 4.520, PAPER),
    PublishedWiring(128, 8, "duplex", "lower-bound", (1, 5, 13, 39), 5, 2.961, CODE),
    PublishedWiring(128, 8, "duplex", "nearest", (1, 3, 11, 37), 5, 2.929, PAPER),
    PublishedWiring(128, 8, "directed", "nearest", (1, 3, 5, 9, 17, 31, 57, 105), 5, 3.055, PAPER),
    PublishedWiring(432, 8, "duplex", "lower-bound", (1, 5, 23, 95), 7, 4.088, CODE),
)


def fig14(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return diameter, average hops and the whole distribution of every wiring."""
    tables = {wiring: _wired(wiring, wiring.rule) for wiring in PUBLISHED}
    rows = [row for wiring, (strides, table) in tables.items() for row in _rows(wiring, strides, table)]
    comparisons = [row for wiring, found in tables.items() for row in _compared(wiring, *found)]
    best = {_fabric(wiring): wiring for wiring in PUBLISHED}.values()
    ours = {wiring: _wired(wiring, "best") for wiring in best}
    rows += [row for wiring, found in ours.items() for row in _rows(wiring, *found, rule="best")]
    return Figure(
        "fig14",
        TITLE,
        tuple(rows),
        tuple(comparisons),
        tuple(_chart(degree) for degree in (4, 8)),
        (
            "Exact: hops are counted over all ordered pairs of servers. Duplex: an interface is a fiber pair, a "
            "stride p is used as +p and -p. Directed: a stride is one fiber out and one in, as in the paper's "
            "figures.",
            "Strides are chosen anew by the named rule of SelectPermutations and must be the published ones.",
            "Rule best is ours, the least diameter and then the least average hops: " + _gains(ours) + ".",
        ),
    )


def _wired(wiring: PublishedWiring, rule: str) -> tuple[tuple[int, ...], CoinTable]:
    """Return the strides that a rule chooses, and the hops to every distance."""
    strides = select_permutations(wiring.servers, wiring.degree, links=wiring.links, rule=rule)
    offsets = stride_offsets(wiring.servers, strides, wiring.links)
    return strides, coin_change_mod(wiring.servers, offsets)


def _fabric(wiring: PublishedWiring) -> tuple[int, int, str]:
    return wiring.servers, wiring.degree, wiring.links


def _rows(wiring: PublishedWiring, strides: tuple[int, ...], table: CoinTable, rule: str = "") -> list[Row]:
    """Return a row for each number of hops."""
    return [
        {
            "servers": wiring.servers,
            "degree": wiring.degree,
            "links": wiring.links,
            "rule": rule or wiring.rule,
            "strides": "+".join(map(str, strides)),
            "diameter": table.diameter,
            "average_hops": table.average_hops,
            "hops": hops,
            "ordered_pairs": int(count) * wiring.servers,
            "share_within": float(share),
        }
        for hops, (count, share) in enumerate(
            zip(table.histogram()[1:], coin_length_distribution(table), strict=True), 1
        )
    ]


def _compared(
    wiring: PublishedWiring, strides: tuple[int, ...], table: CoinTable
) -> tuple[Comparison, Comparison, Comparison]:
    wanted, alike = len(wiring.strides), len(set(strides) & set(wiring.strides))
    average, tolerance = wiring.average_hops, THREE_DECIMALS / wiring.average_hops
    return (
        Comparison(
            f"{wiring.name}: strides {', '.join(map(str, wiring.strides))} chosen",
            "strides",
            alike,
            wanted,
            wanted,
            0,
            wiring.origin,
        ),
        Comparison(
            f"{wiring.name}: diameter", "hops", table.diameter, *(wiring.diameter,) * 2, 0, wiring.origin
        ),
        Comparison(
            f"{wiring.name}: average",
            "hops",
            table.average_hops,
            average,
            average,
            tolerance,
            wiring.origin,
        ),
    )


def _gains(ours: dict[PublishedWiring, tuple[tuple[int, ...], CoinTable]]) -> str:
    return "; ".join(
        f"n={wiring.servers}, d={wiring.degree}, {wiring.links}: strides {', '.join(map(str, strides))}, "
        f"diameter {table.diameter}, average {table.average_hops:.3f}"
        for wiring, (strides, table) in ours.items()
        if wiring.servers >= 128
    )


def _chart(degree: int) -> LineChart:
    """Return the distributions of 128 servers."""
    drawn = [wiring for wiring in PUBLISHED if wiring.servers == 128 and wiring.degree == degree]
    series = [_series(wiring, wiring.rule) for wiring in drawn]
    series += [_series(wiring, "best") for wiring in {_fabric(row): row for row in drawn}.values()]
    return LineChart(
        f"fig14-d{degree}",
        f"Path lengths of 128 servers, d={degree}",
        "hops",
        "share of the pairs within",
        tuple(series),
    )


def _series(wiring: PublishedWiring, rule: str) -> Series:
    strides, table = _wired(wiring, rule)
    shares = coin_length_distribution(table).tolist()
    name = f"{wiring.links}, {rule}: {', '.join(map(str, strides))}"
    return Series(name, tuple(range(len(shares) + 1)), (0.0, *shares), stepped=True)
