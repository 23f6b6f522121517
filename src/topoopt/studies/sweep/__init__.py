"""Many plans, stored and resumable, computed by processes or a Ray cluster."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.studies.sweep.axes import request_of as request_of
    from topoopt.studies.sweep.compute import solve as solve
    from topoopt.studies.sweep.file import Sweep as Sweep
    from topoopt.studies.sweep.file import make_sweep as make_sweep
    from topoopt.studies.sweep.file import read_sweep as read_sweep
    from topoopt.studies.sweep.point import Answer as Answer
    from topoopt.studies.sweep.point import Crew as Crew
    from topoopt.studies.sweep.point import Point as Point
    from topoopt.studies.sweep.point import Task as Task
    from topoopt.studies.sweep.results import BEST as BEST
    from topoopt.studies.sweep.results import Results as Results
    from topoopt.studies.sweep.results import ResultsAnswer as ResultsAnswer
    from topoopt.studies.sweep.results import Rows as Rows
    from topoopt.studies.sweep.results import Summary as Summary
    from topoopt.studies.sweep.results import axes_of as axes_of
    from topoopt.studies.sweep.results import best as best
    from topoopt.studies.sweep.results import open_results as open_results
    from topoopt.studies.sweep.results import query as query
    from topoopt.studies.sweep.results import select as select
    from topoopt.studies.sweep.results import summarized as summarized
    from topoopt.studies.sweep.run import SweepAnswer as SweepAnswer
    from topoopt.studies.sweep.run import SweepPreview as SweepPreview
    from topoopt.studies.sweep.run import SweepRun as SweepRun
    from topoopt.studies.sweep.run import count_finished as count_finished
    from topoopt.studies.sweep.run import run_sweep as run_sweep
    from topoopt.studies.sweep.series import FRONT as FRONT
    from topoopt.studies.sweep.series import Line as Line
    from topoopt.studies.sweep.series import Lines as Lines
    from topoopt.studies.sweep.series import front_rows as front_rows
    from topoopt.studies.sweep.series import lines_of as lines_of
    from topoopt.studies.sweep.workers import kept_processes as kept_processes
    from topoopt.studies.sweep.workers import kept_ray_cluster as kept_ray_cluster
    from topoopt.studies.sweep.workers import processes as processes
    from topoopt.studies.sweep.workers import ray_cluster as ray_cluster

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
