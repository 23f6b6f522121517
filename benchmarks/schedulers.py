"""A day of CASSINI's evaluation on 24 servers: Poisson arrivals, workers given out by Themis, iterations one by one.

Planning each model on each number of workers is part of the first figure. No other program is known that follows such
a day.
"""

from collections.abc import Iterator
from functools import partial

from benchmarks.figure import Figure, best_cpu_seconds
from topoopt.catalog import ClusterSpec
from topoopt.clusters import (
    CassiniTraceSettings,
    ClusterSettings,
    Machine,
    ScheduledCluster,
    ScheduleSettings,
    cassini_24,
    cassini_trace_for,
    run_schedules,
)
from topoopt.jobs import JobSettings

LOAD, DAY_S, COMPILING_S = 0.9, 86_400.0, 1_200.0
MACHINE = Machine(50e9, 1e-6, "a100", JobSettings(), "analytic")
WAYS = (
    ScheduleSettings("themis"),
    ScheduleSettings("themis", sharing="mltcp"),
    ScheduleSettings("themis", cassini=True),
)


def figures() -> Iterator[Figure]:
    settings = ClusterSettings(ClusterSpec(24, 1, 50e9, accelerators_per_server=1))
    short, trace = (
        cassini_trace_for(CassiniTraceSettings("poisson", load=LOAD, horizon_s=horizon_s), settings)
        for horizon_s in (COMPILING_S, DAY_S)
    )
    for how in WAYS:
        cluster = ScheduledCluster(cassini_24(), MACHINE, (how,))
        run_schedules(short, cluster)
        seconds = best_cpu_seconds(partial(run_schedules, trace, cluster), 1)
        yield Figure(f"a day of {len(trace.jobs)} jobs, {how.name}", seconds, "CPU s", 30.0, False)
