"""A day of a cluster: 566 jobs on 432 servers, on links of their own and on a fat-tree that they share.

No other program is known that follows such a day; the original is our own speed before the fluid engine was one, with
equal results. Plans are made before: what is measured is the course, and what jobs on shared links do to each other.
"""

from collections.abc import Iterator

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.catalog import ClusterSpec
from topoopt.clusters import ClusterSettings, GeneratorSettings, course_fabrics, generate_trace, run_course
from topoopt.search import SearchOptions

SERVERS = 432
ORIGINAL = "topoopt of November 2026, before one engine shared links everywhere"


def figures() -> Iterator[Figure]:
    settings = ClusterSettings(
        ClusterSpec(SERVERS, 8, 100e9), search=SearchOptions(budget=0, baseline_budget=0)
    )
    trace = generate_trace(GeneratorSettings(load=0.8), SERVERS)

    def run(name: str) -> None:
        # A fabric made anew: one that has run knows how fast its jobs are beside each other. Plans are kept.
        (fabric, *_) = course_fabrics(name, settings)
        run_course(trace, fabric, settings)

    for name, limit, original in (("topoopt", 2.0, 1.1), ("fat-tree", 8.0, 4.5)):
        run(name)  # compile the kernels, make the plans
        seconds = best_cpu_seconds(lambda: run(name))  # noqa: B023
        what = f"a day of {len(trace.jobs)} jobs, {name}, n={SERVERS}"
        yield Figure(what, seconds, "CPU s", limit, False, original, ORIGINAL)
