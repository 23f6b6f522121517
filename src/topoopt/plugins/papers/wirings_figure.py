"""The figure of the study "beyond strides": ratios of its rows, what is compared, and the charts."""

from collections.abc import Iterator
from dataclasses import dataclass

from topoopt.finder import STRIDES
from topoopt.pages import Chart, Series
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Figure, Row
from topoopt.plugins.papers.wirings_fabrics import DIRECT, IDEAL, LIFTED, TREE
from topoopt.plugins.papers.wirings_jobs import PLANS, TITLES

TEXT = description("wirings")


@dataclass(frozen=True, eq=False)
class WiringTimes:
    """The rows of the study."""

    rows: tuple[Row, ...]

    def where(self, **values: object) -> list[Row]:
        """Return the rows that have these values."""
        return [row for row in self.rows if values.items() <= row.items()]

    def time_s(self, like: Row, fabric: str) -> float:
        """Return the iteration time of a row's job on another fabric."""
        same = {key: like[key] for key in ("what", "model", "servers", "degree")}
        (row,) = self.where(**same, fabric=fabric)
        return float(row["iteration_time_s"])

    def with_ratios(self) -> Iterator[Row]:
        """Yield the rows, those of jobs with their times over the ideal switch's and over those of strides."""
        for row in self.rows:
            if "iteration_time_s" not in row:
                yield row
                continue
            time_s = row["iteration_time_s"]
            ratios = (time_s / self.time_s(row, fabric) for fabric in (IDEAL, STRIDES))
            yield {**row, **dict(zip(("over_ideal_switch", "over_strides"), ratios, strict=True))}


def wirings_figure(times: WiringTimes, servers: int, batch: int, *, quick: bool) -> Figure:
    """Return the figure of these rows."""
    rows = tuple(times.with_ratios())
    return TEXT.figure(rows, _compared(times), _charts(rows, servers, batch), quick=quick, batch=batch)


def _compared(times: WiringTimes) -> Iterator[Comparison]:
    """Yield what a prototype of the search had, records of others, and how far behind the fat-tree strides stay."""
    for entry in TEXT.tables["prototype"]:
        for row in times.where(
            what=entry["what"], fabric=entry["fabric"], degree=entry["degree"], servers=128
        ):
            words = {"fabric": entry["fabric"], "degree": entry["degree"], "published": entry["value"]}
            yield TEXT.comparison(entry["name"], row[entry["column"]] * entry.get("scale", 1), **words)
    for entry in TEXT.tables["records"]:
        size = {"servers": entry["servers"], "degree": entry["degree"]}
        for row in times.where(what="record", **size):
            yield TEXT.comparison("record", row["average_hops"], published=entry["hops"], **size)
    for row in times.where(what="all-to-all", fabric=LIFTED, degree=4):
        tree_s = times.time_s(row, TREE)
        strides = times.time_s(row, STRIDES) / tree_s
        yield TEXT.comparison("over-tree", row["iteration_time_s"] / tree_s, strides=strides)


def _charts(rows: tuple[Row, ...], servers: int, batch: int) -> Iterator[Chart]:
    direct = [row for row in rows if row["what"] == "wiring"]
    moore = {row["degree"]: row["moore_average_hops"] for row in direct}
    bound = Series("Moore's bound", tuple(moore), tuple(moore.values()))
    yield TEXT.chart("hops", direct, bound, servers=servers)
    if batch:
        yield TEXT.chart("exchange", [row for row in rows if row["what"] == "all-to-all"], batch=batch)
    for degree in dict.fromkeys(row["degree"] for row in rows if row["what"] == "job"):
        drawn = [
            {**row, "title": TITLES[row["model"]]}
            for row in rows
            if row["what"] == "job" and row["degree"] == degree and row["fabric"] in (*DIRECT, *PLANS)
        ]
        yield TEXT.chart("jobs", drawn, degree=degree)
