"""Plan a job, and make a page and one figure of it, from Python instead of the command line."""

import tempfile
from pathlib import Path

from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job
from topoopt.pages import LineChart, Series, draw_charts, make_page, write_report
from topoopt.search import SearchOptions, make_plan
from topoopt.workloads import load_model

SERVERS = 8
DEGREES = (2, 3, 4)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="topoopt-"))
    graph = load_model("dlrm", servers=16)
    times_ms = []
    for degree in DEGREES:
        job = make_job(graph, ClusterSpec(SERVERS, degree, 100e9), JobSettings())
        plan = make_plan(job, SearchOptions(budget=100, baseline_budget=20), fabrics=("ideal-switch",))
        times_ms.append(plan.outcome.iteration_time_s * 1e3)
        print(f"degree {degree}: {times_ms[-1]:.2f} ms")

    print(f"in {folder}:")
    page = make_page(plan)
    size_bytes = write_report(folder / "report.html", page)
    print(f"report.html: {len(page.charts)} figures, {size_bytes / 1e6:.1f} MB")

    series = Series("topoopt", DEGREES, tuple(times_ms))
    chart = LineChart("degrees", "DLRM on 8 servers", "ports of a server", "iteration time (ms)", (series,))
    for path in draw_charts([chart], folder, ("png", "pdf")):
        print(Path(path).name)


if __name__ == "__main__":
    main()
