"""Figures 12 to 15: the all-to-all of embedding tables, the bandwidth tax, hops between servers, and link loads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor

import numpy as np
from numpy.typing import NDArray

from topoopt.base.answers import Progress, fields_of
from topoopt.finder import select_permutations
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BATCHES,
    CARRIED,
    DEGREES,
    SERVERS,
    circulant_strides,
    run_study,
    study_fabrics,
    study_graph,
    study_traffic,
    topoopt_fabric,
)
from topoopt.routing import CoinTable, bandwidth_tax, coin_change_mod, coin_length_distribution, link_loads
from topoopt.simulation import COLLECTIVE, TRANSFER
from topoopt.topologies import stride_offsets

FIG15 = description("fig15")
ROUTINGS = {
    "coin-change": "CoinChangeMod over all shortest sequences",
    "k-shortest": "k shortest paths, equal weights",
    "single-shortest": "one path a pair, as in the released files",
}
DRAWN_BATCH = 256
"""Batch in the released files."""


@dataclass(frozen=True, slots=True)
class Loads:
    """Bytes on every link of one case, in all and of the AllReduce alone."""

    degree: int
    batch: int
    routing: str
    link_bytes: NDArray[np.float64]
    allreduce_bytes: NDArray[np.float64]


FIG13 = description("fig13")
COUNTED, CLOSED_FORM = "tax_counted", "tax_closed_form"
FIG12 = description("fig12")
OURS, IDEAL, TREE = "TopoOpt, released strides", "ideal switch", "fat-tree, d·B/3.2"
Times = dict[tuple[int, int, int, str], Row]
"""A row by degree, batch, copies of an activation and fabric."""
FIG14 = description("fig14")
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
        """Strides chosen by the rule."""
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
    published = {Wiring(*row[:4]): row[4:] for row in FIG14.tables["wirings"]}
    ours = list(dict.fromkeys(wiring.best for wiring in published))
    gains = "; ".join(
        f"n={wiring.servers}, d={wiring.degree}, {wiring.links}: strides {_listed(wiring.strides)}, "
        f"diameter {wiring.hops.diameter}, average {wiring.hops.average_hops:.3f}"
        for wiring in ours
        if wiring.servers >= 128
    )
    return FIG14.figure(
        [row for wiring in (*published, *ours) for row in _rows(wiring)],
        [row for wiring, known in published.items() for row in _compared(wiring, *known)],
        [
            FIG14.chart(
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
    table = wiring.hops
    shares = coin_length_distribution(table)
    for hops, (count, share) in enumerate(zip(table.histogram()[1:], shares, strict=True), 1):
        yield {
            **fields_of(wiring, "servers", "degree", "links", "rule"),
            "strides": "+".join(map(str, wiring.strides)),
            **fields_of(table, "diameter", "average_hops"),
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
        "origin": FIG14.tables["origins"][source],
    }
    alike = len(set(strides) & set(wiring.strides))
    hops = wiring.hops
    yield FIG14.comparison("strides", alike, published=len(strides), **words)
    yield FIG14.comparison("diameter", hops.diameter, published=diameter, **words)
    tolerance = THREE_DECIMALS / average
    yield FIG14.comparison("average", hops.average_hops, published=average, tolerance=tolerance, **words)


def _series(wiring: Wiring) -> Series:
    shares = coin_length_distribution(wiring.hops).tolist()
    name = f"{wiring.links}, {wiring.rule}: {_listed(wiring.strides)}"
    return Series(name, tuple(range(len(shares) + 1)), (0.0, *shares), stepped=True)


def _listed(strides: Sequence[int]) -> str:
    return ", ".join(map(str, strides))


def fig12(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the iteration times of DLRM with a table on every server, on four fabrics."""
    cases = [(degree, batch, CARRIED) for degree in DEGREES for batch in BATCHES]
    cases += [(4, 128, 1), (4, 2048, 1)]
    rows: Times = {}
    for index, case in enumerate(cases):
        on_progress("fig12: simulating", index, len(cases))
        rows |= {(*case, row["fabric"]): row for row in _fig12_rows(*case)}
    by_degree = {
        degree: [row for key, row in rows.items() if (key[0], key[2]) == (degree, CARRIED)]
        for degree in DEGREES
    }
    others = [row for row in by_degree[4] if row["fabric"] != IDEAL]
    return FIG12.figure(
        rows.values(),
        [*_bytes(), *_times(rows)],
        [
            *(FIG12.chart("time", at, degree=degree) for degree, at in by_degree.items()),
            FIG12.chart("ratio", others),
        ],
        four=_ratio(rows, OURS, TREE, 2048, CARRIED),
        eight=_ratio(rows, OURS, TREE, 2048, CARRIED, 8),
    )


def _fig12_rows(degree: int, batch: int, factor: int) -> Iterator[Row]:
    traffic = study_traffic(batch, factor)
    results = {name: run_study(batch, fabric, factor) for name, fabric in study_fabrics(degree).items()}
    for name, result in results.items():
        yield {
            "degree": degree,
            "batch_per_accelerator": batch,
            "embedding_bytes_factor": factor,
            "fabric": name,
            **fields_of(
                result, "iteration_time_s", "compute_time_s", "exposed_communication_s", "bandwidth_tax"
            ),
            "all_to_all_over_allreduce": traffic.mp_bytes / traffic.allreduce_wire_bytes,
            "over_ideal_switch": result.iteration_time_s / results[IDEAL].iteration_time_s,
        }


def _bytes() -> Iterator[Comparison]:
    graph = study_graph(256)
    sent = graph.size_bytes[(graph.kind == TRANSFER) & (graph.src != graph.dst)]
    yield FIG12.comparison("gradients", float(graph.size_bytes[graph.kind == COLLECTIVE].sum()))
    yield FIG12.comparison("transfer", float(np.bincount(sent.astype(np.int64)).argmax()))
    traffic = study_traffic(2048)
    yield FIG12.comparison("all-to-all", traffic.mp_bytes / traffic.allreduce_wire_bytes)


def _times(rows: Times) -> Iterator[Comparison]:
    for factor in (CARRIED, 1):
        for name, over, under, batch in (
            ("small", OURS, IDEAL, 128),
            ("tree", TREE, OURS, 128),
            ("large", OURS, TREE, 2048),
        ):
            own, ideal = (rows[4, batch, factor, fabric] for fabric in (OURS, IDEAL))
            yield FIG12.comparison(
                name,
                _ratio(rows, over, under, batch, factor),
                how="" if factor == CARRIED else ", activations carried once",
                tax=own["bandwidth_tax"],
                more_ms=(own["exposed_communication_s"] - ideal["exposed_communication_s"]) * 1e3,
                tree_over_ideal=_ratio(rows, TREE, IDEAL, batch, factor),
            )


def _ratio(rows: Times, over: str, under: str, batch: int, factor: int, degree: int = 4) -> float:
    one, other = (rows[degree, batch, factor, name]["iteration_time_s"] for name in (over, under))
    return float(one / other)


def fig13(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the tax of the all-to-all study, counted on links and by the closed form."""
    cases = [(degree, batch) for degree in DEGREES for batch in BATCHES]
    rows = []
    for index, case in enumerate(cases):
        on_progress("fig13: counting bytes on links", index, len(cases))
        rows.append(_row(*case))
    first = rows[0]
    return FIG13.figure(
        rows,
        [
            FIG13.comparison("tax", first[COUNTED], how="counted on the links"),
            FIG13.comparison("tax", first[CLOSED_FORM], how="closed form"),
        ],
        [FIG13.chart("tax", (), *_fig13_series(rows))],
        ratio=rows[-1]["all_to_all_over_allreduce"],
        carried_once=bandwidth_tax(first["all_to_all_over_allreduce"] / 2, first["average_hops"]),
        largest=max(row[COUNTED] for row in rows),
    )


def _row(degree: int, batch: int) -> Row:
    traffic, strides = study_traffic(batch), circulant_strides(degree)
    hops = coin_change_mod(SERVERS, stride_offsets(SERVERS, strides, "duplex")).average_hops
    return {
        "degree": degree,
        "batch_per_accelerator": batch,
        "strides": "+".join(map(str, strides)),
        "average_hops": hops,
        "all_to_all_over_allreduce": traffic.mp_bytes / traffic.allreduce_wire_bytes,
        COUNTED: run_study(batch, topoopt_fabric(degree), simulator="analytic").bandwidth_tax,
        CLOSED_FORM: bandwidth_tax(FIG13.tables["ratio_at_largest"] * batch / BATCHES[-1], hops),
    }


def _fig13_series(rows: Sequence[Row]) -> Iterator[Series]:
    for degree in DEGREES:
        for how, column in (("closed form", CLOSED_FORM), ("counted", COUNTED)):
            values = tuple(row[column] for row in rows if row["degree"] == degree)
            joined = column == CLOSED_FORM
            yield Series(f"d={degree}, {how}", tuple(map(str, BATCHES)), values, joined=joined)


def fig15(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the link loads in the all-to-all study, by routing."""
    cases = list(_loads(on_progress))
    drawn = [case for case in cases if case.batch == DRAWN_BATCH]
    published = next(case for case in drawn if case.degree == 8).allreduce_bytes
    charts = [
        FIG15.chart(
            "bytes",
            (),
            *(_fig15_series(case) for case in drawn if case.degree == degree),
            degree=degree,
            batch=DRAWN_BATCH,
        )
        for degree in DEGREES
    ]
    return FIG15.figure(
        map(_fig15_row, cases),
        [
            FIG15.comparison("allreduce", floor(published.min()), which="least loaded"),
            FIG15.comparison("allreduce", floor(published.max()), which="busiest"),
        ],
        charts,
        servers=SERVERS,
        batch=DRAWN_BATCH,
        balance=", ".join(
            f"d={case.degree} {case.routing} {case.link_bytes.max() / case.link_bytes.mean():.2f}"
            for case in drawn
        ),
    )


def _loads(on_progress: Progress) -> Iterator[Loads]:
    cases = [(degree, batch, routing) for degree in DEGREES for batch in BATCHES for routing in ROUTINGS]
    for index, (degree, batch, routing) in enumerate(cases):
        on_progress("fig15: counting bytes on links", index, len(cases))
        fabric = topoopt_fabric(degree, routing=routing)
        carried = run_study(batch, fabric, simulator="analytic").link_bytes
        forwarded = link_loads(fabric.topology, fabric.routes, study_traffic(batch).mp_matrix())
        yield Loads(degree, batch, routing, carried, carried - forwarded)


def _fig15_row(case: Loads) -> Row:
    carried = case.link_bytes
    return {
        "degree": case.degree,
        "batch_per_accelerator": case.batch,
        "routing": case.routing,
        "links": len(carried),
        "allreduce_link_bytes": float(case.allreduce_bytes.mean()),
        "least_link_bytes": float(carried.min()),
        "mean_link_bytes": float(carried.mean()),
        "busiest_link_bytes": float(carried.max()),
        "busiest_over_mean": float(carried.max() / carried.mean()),
    }


def _fig15_series(case: Loads) -> Series:
    carried, count = np.unique(case.link_bytes.round(), return_counts=True)
    x, share = (carried / 1e9).tolist(), (np.cumsum(count) / count.sum()).tolist()
    return Series(ROUTINGS[case.routing], (x[0], *x), (0.0, *share), stepped=True)
