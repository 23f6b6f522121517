"""Many jobs over time, on shards of one machine room or sharing one fabric."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.clusters.cassini_trace import CASSINI_TRACES as CASSINI_TRACES
    from topoopt.clusters.cassini_trace import CassiniTraceSettings as CassiniTraceSettings
    from topoopt.clusters.cassini_trace import EvaluatedModel as EvaluatedModel
    from topoopt.clusters.cassini_trace import cassini_snapshots as cassini_snapshots
    from topoopt.clusters.cassini_trace import cassini_trace as cassini_trace
    from topoopt.clusters.cassini_trace import cassini_trace_for as cassini_trace_for
    from topoopt.clusters.cassini_trace import evaluated_models as evaluated_models
    from topoopt.clusters.fabrics import CourseFabric as CourseFabric
    from topoopt.clusters.fabrics import FabricSnapshot as FabricSnapshot
    from topoopt.clusters.fabrics import course_fabrics as course_fabrics
    from topoopt.clusters.fabrics import snapshot as snapshot
    from topoopt.clusters.pace import IterationTimes as IterationTimes
    from topoopt.clusters.pace import Pace as Pace
    from topoopt.clusters.pace import PlacedJob as PlacedJob
    from topoopt.clusters.public_trace import public_kind as public_kind
    from topoopt.clusters.public_trace import read_public_trace as read_public_trace
    from topoopt.clusters.result import AnswerTime as AnswerTime
    from topoopt.clusters.result import ClusterResult as ClusterResult
    from topoopt.clusters.result import Distribution as Distribution
    from topoopt.clusters.result import FabricRun as FabricRun
    from topoopt.clusters.result import JobRecord as JobRecord
    from topoopt.clusters.result import Schedule as Schedule
    from topoopt.clusters.result import ScheduledJob as ScheduledJob
    from topoopt.clusters.result import ServedRecord as ServedRecord
    from topoopt.clusters.result import result_from_mapping as result_from_mapping
    from topoopt.clusters.result import write_cluster_result as write_cluster_result
    from topoopt.clusters.run import Course as Course
    from topoopt.clusters.run import run_cluster as run_cluster
    from topoopt.clusters.run import run_course as run_course
    from topoopt.clusters.schedulers.table import SCHEDULERS as SCHEDULERS
    from topoopt.clusters.scheduling.model_workers import Machine as Machine
    from topoopt.clusters.scheduling.model_workers import model_workers as model_workers
    from topoopt.clusters.scheduling.model_workers import worker_profile as worker_profile
    from topoopt.clusters.scheduling.network import ScheduleSettings as ScheduleSettings
    from topoopt.clusters.scheduling.network import WorkerNetwork as WorkerNetwork
    from topoopt.clusters.scheduling.network import cassini_24 as cassini_24
    from topoopt.clusters.scheduling.run import ScheduledCluster as ScheduledCluster
    from topoopt.clusters.scheduling.run import ScheduledCourse as ScheduledCourse
    from topoopt.clusters.scheduling.run import run_schedules as run_schedules
    from topoopt.clusters.settings import PLACEMENTS_OVER_TIME as PLACEMENTS_OVER_TIME
    from topoopt.clusters.settings import WEIGHTINGS as WEIGHTINGS
    from topoopt.clusters.settings import ClusterSettings as ClusterSettings
    from topoopt.clusters.settings import PanelSettings as PanelSettings
    from topoopt.clusters.settings import SharingOptions as SharingOptions
    from topoopt.clusters.shards import HeldWiring as HeldWiring
    from topoopt.clusters.shared_fabric import shared_fabric as shared_fabric
    from topoopt.clusters.shared_fabric import shared_pace as shared_pace
    from topoopt.clusters.trace import Trace as Trace
    from topoopt.clusters.trace import TraceJob as TraceJob
    from topoopt.clusters.trace import read_trace as read_trace
    from topoopt.clusters.trace import write_trace as write_trace
    from topoopt.clusters.trace_generator import DURATIONS as DURATIONS
    from topoopt.clusters.trace_generator import MIXED as MIXED
    from topoopt.clusters.trace_generator import MIXES as MIXES
    from topoopt.clusters.trace_generator import GeneratorSettings as GeneratorSettings
    from topoopt.clusters.trace_generator import MixedTraceSettings as MixedTraceSettings
    from topoopt.clusters.trace_generator import generate_trace as generate_trace
    from topoopt.clusters.trace_generator import mixed_trace as mixed_trace
    from topoopt.clusters.trace_generator import parse_mix as parse_mix

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
