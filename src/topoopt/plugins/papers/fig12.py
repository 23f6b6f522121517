"""Figure 12: the all-to-all of embedding tables grows with the batch, from little to most of the AllReduce."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.progress import Progress
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BATCHES,
    CARRIED,
    DEGREES,
    run_study,
    study_fabrics,
    study_graph,
    study_traffic,
)
from topoopt.simulation import COLLECTIVE, TRANSFER

TEXT = description("fig12")
OURS, IDEAL, TREE = "TopoOpt, released strides", "ideal switch", "fat-tree, d·B/3.2"

Times = dict[tuple[int, int, int, str], Row]
"""A row by degree, batch, copies of an activation and fabric."""


def fig12(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the iteration times of DLRM with a table on every server, on four fabrics."""
    cases = [(degree, batch, CARRIED) for degree in DEGREES for batch in BATCHES]
    cases += [(4, 128, 1), (4, 2048, 1)]
    rows: Times = {}
    for index, case in enumerate(cases):
        on_progress("fig12: simulating", index, len(cases))
        rows |= {(*case, row["fabric"]): row for row in _rows(*case)}
    by_degree = {
        degree: [row for key, row in rows.items() if (key[0], key[2]) == (degree, CARRIED)]
        for degree in DEGREES
    }
    others = [row for row in by_degree[4] if row["fabric"] != IDEAL]
    return TEXT.figure(
        rows.values(),
        [*_bytes(), *_times(rows)],
        [
            *(TEXT.chart("time", at, degree=degree) for degree, at in by_degree.items()),
            TEXT.chart("ratio", others),
        ],
        four=_ratio(rows, OURS, TREE, 2048, CARRIED),
        eight=_ratio(rows, OURS, TREE, 2048, CARRIED, 8),
    )


def _rows(degree: int, batch: int, factor: int) -> Iterator[Row]:
    traffic = study_traffic(batch, factor)
    results = {name: run_study(batch, fabric, factor) for name, fabric in study_fabrics(degree).items()}
    for name, result in results.items():
        yield {
            "degree": degree,
            "batch_per_accelerator": batch,
            "embedding_bytes_factor": factor,
            "fabric": name,
            "iteration_time_s": result.iteration_time_s,
            "compute_time_s": result.compute_time_s,
            "exposed_communication_s": result.exposed_communication_s,
            "bandwidth_tax": result.bandwidth_tax,
            "all_to_all_over_allreduce": traffic.mp_bytes / traffic.allreduce_wire_bytes,
            "over_ideal_switch": result.iteration_time_s / results[IDEAL].iteration_time_s,
        }


def _bytes() -> Iterator[Comparison]:
    graph = study_graph(256)
    sent = graph.size_bytes[(graph.kind == TRANSFER) & (graph.src != graph.dst)]
    yield TEXT.comparison("gradients", float(graph.size_bytes[graph.kind == COLLECTIVE].sum()))
    yield TEXT.comparison("transfer", float(np.bincount(sent.astype(np.int64)).argmax()))
    traffic = study_traffic(2048)
    yield TEXT.comparison("all-to-all", traffic.mp_bytes / traffic.allreduce_wire_bytes)


def _times(rows: Times) -> Iterator[Comparison]:
    for factor in (CARRIED, 1):
        for name, over, under, batch in (
            ("small", OURS, IDEAL, 128),
            ("tree", TREE, OURS, 128),
            ("large", OURS, TREE, 2048),
        ):
            own, ideal = (rows[4, batch, factor, fabric] for fabric in (OURS, IDEAL))
            yield TEXT.comparison(
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
