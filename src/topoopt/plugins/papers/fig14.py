"""Figure 14: how many hops there are between servers, for the published wirings and for ours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from topoopt.base.progress import Progress
from topoopt.finder import select_permutations
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.routing import CoinTable, coin_change_mod, coin_length_distribution
from topoopt.topologies import stride_offsets

TEXT = description("fig14")
THREE_DECIMALS = 0.0005


@dataclass(frozen=True)
class Wiring:
    """The strides that a rule chooses for some servers and degree, and the hops to every distance."""

    servers: int
    degree: int
    links: str
    rule: str

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """What the rule chooses."""
        return select_permutations(self.servers, self.degree, links=self.links, rule=self.rule)

    @cached_property
    def hops(self) -> CoinTable:
        """Hops to every distance."""
        return coin_change_mod(self.servers, stride_offsets(self.servers, self.strides, self.links))

    @property
    def best(self) -> "Wiring":
        """The wiring by our own rule for the same servers, degree and links."""
        return Wiring(self.servers, self.degree, self.links, "best")


def fig14(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return diameter, average hops and the whole distribution of every wiring."""
    published = {Wiring(*row[:4]): row[4:] for row in TEXT.tables["wirings"]}
    ours = list(dict.fromkeys(wiring.best for wiring in published))
    gains = "; ".join(
        f"n={wiring.servers}, d={wiring.degree}, {wiring.links}: strides {_listed(wiring.strides)}, "
        f"diameter {wiring.hops.diameter}, average {wiring.hops.average_hops:.3f}"
        for wiring in ours
        if wiring.servers >= 128
    )
    return TEXT.figure(
        [row for wiring in (*published, *ours) for row in _rows(wiring)],
        [row for wiring, known in published.items() for row in _compared(wiring, *known)],
        [
            TEXT.chart(
                "hops",
                (),
                *(
                    _series(wiring)
                    for wiring in (*published, *ours)
                    if (wiring.servers, wiring.degree) == (128, degree)
                ),
                degree=degree,
            )
            for degree in (4, 8)
        ],
        gains=gains,
    )


def _rows(wiring: Wiring) -> Iterator[Row]:
    """Yield a row for each number of hops."""
    table = wiring.hops
    shares = coin_length_distribution(table)
    for hops, (count, share) in enumerate(zip(table.histogram()[1:], shares, strict=True), 1):
        yield {
            "servers": wiring.servers,
            "degree": wiring.degree,
            "links": wiring.links,
            "rule": wiring.rule,
            "strides": "+".join(map(str, wiring.strides)),
            "diameter": table.diameter,
            "average_hops": table.average_hops,
            "hops": hops,
            "ordered_pairs": int(count) * wiring.servers,
            "share_within": float(share),
        }


def _compared(
    wiring: Wiring, strides: list[int], diameter: int, average: float, source: str
) -> Iterator[Comparison]:
    words = {
        "name": f"n={wiring.servers}, d={wiring.degree}, {wiring.links}, {wiring.rule}",
        "strides": _listed(strides),
        "origin": TEXT.tables["origins"][source],
    }
    alike = len(set(strides) & set(wiring.strides))
    hops = wiring.hops
    yield TEXT.comparison("strides", alike, published=len(strides), **words)
    yield TEXT.comparison("diameter", hops.diameter, published=diameter, **words)
    tolerance = THREE_DECIMALS / average
    yield TEXT.comparison("average", hops.average_hops, published=average, tolerance=tolerance, **words)


def _series(wiring: Wiring) -> Series:
    shares = coin_length_distribution(wiring.hops).tolist()
    name = f"{wiring.links}, {wiring.rule}: {_listed(wiring.strides)}"
    return Series(name, tuple(range(len(shares) + 1)), (0.0, *shares), stepped=True)


def _listed(strides: Sequence[int]) -> str:
    return ", ".join(map(str, strides))
