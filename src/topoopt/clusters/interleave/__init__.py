"""Jobs that share links: when each sends (CASSINI), and congestion control that finds it by itself (MLTCP)."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.clusters.interleave.advice import NearestPeriod as NearestPeriod
    from topoopt.clusters.interleave.interleaving import Interleaving as Interleaving
    from topoopt.clusters.interleave.interleaving import interleave as interleave
    from topoopt.clusters.interleave.link_rotation import MERGING as MERGING
    from topoopt.clusters.interleave.link_rotation import InterleavingRules as InterleavingRules
    from topoopt.clusters.interleave.link_rotation import LinkRotation as LinkRotation
    from topoopt.clusters.interleave.link_rotation import MergedLink as MergedLink
    from topoopt.clusters.interleave.link_rotation import SharedLink as SharedLink
    from topoopt.clusters.interleave.link_rotation import highest_profile as highest_profile
    from topoopt.clusters.interleave.link_rotation import link_rotation as link_rotation
    from topoopt.clusters.interleave.link_rotation import merge_links as merge_links
    from topoopt.clusters.interleave.mltcp.comparison import FLUID as FLUID
    from topoopt.clusters.interleave.mltcp.comparison import PACKET_WAYS as PACKET_WAYS
    from topoopt.clusters.interleave.mltcp.comparison import PACKETS as PACKETS
    from topoopt.clusters.interleave.mltcp.comparison import USUAL_PACKET_WAYS as USUAL_PACKET_WAYS
    from topoopt.clusters.interleave.mltcp.comparison import SharingComparison as SharingComparison
    from topoopt.clusters.interleave.mltcp.comparison import compare_packet_ways as compare_packet_ways
    from topoopt.clusters.interleave.mltcp.comparison import compare_ways as compare_ways
    from topoopt.clusters.interleave.mltcp.sharing_ways import SHARING_WAYS as SHARING_WAYS
    from topoopt.clusters.interleave.mltcp.sharing_ways import JobCourse as JobCourse
    from topoopt.clusters.interleave.mltcp.sharing_ways import SharingCourse as SharingCourse
    from topoopt.clusters.interleave.mltcp.sharing_ways import SharingQuestion as SharingQuestion
    from topoopt.clusters.interleave.mltcp.sharing_ways import equal_jobs as equal_jobs
    from topoopt.clusters.interleave.mltcp.sharing_ways import offsets_s as offsets_s
    from topoopt.clusters.interleave.mltcp.theory import SharingPrediction as SharingPrediction
    from topoopt.clusters.interleave.mltcp.theory import iterations_to_converge as iterations_to_converge
    from topoopt.clusters.interleave.mltcp.theory import loss as loss
    from topoopt.clusters.interleave.mltcp.theory import next_offset as next_offset
    from topoopt.clusters.interleave.mltcp.theory import offsets as offsets
    from topoopt.clusters.interleave.mltcp.theory import (
        overlapped_iteration_time_s as overlapped_iteration_time_s,
    )
    from topoopt.clusters.interleave.mltcp.theory import predict_sharing as predict_sharing
    from topoopt.clusters.interleave.mltcp.theory import settled_iteration_time_s as settled_iteration_time_s
    from topoopt.clusters.interleave.mltcp.theory import shift_s as shift_s
    from topoopt.clusters.interleave.periodic.periodic_job import SHARINGS as SHARINGS
    from topoopt.clusters.interleave.periodic.periodic_job import JobIterations as JobIterations
    from topoopt.clusters.interleave.periodic.periodic_job import LinkSharing as LinkSharing
    from topoopt.clusters.interleave.periodic.periodic_job import LinkUse as LinkUse
    from topoopt.clusters.interleave.periodic.periodic_job import PeriodicJob as PeriodicJob
    from topoopt.clusters.interleave.periodic.periodic_job import PeriodicRun as PeriodicRun
    from topoopt.clusters.interleave.periodic.periodic_job import fair_sharing as fair_sharing
    from topoopt.clusters.interleave.periodic.periodic_job import mltcp_sharing as mltcp_sharing
    from topoopt.clusters.interleave.periodic.periodic_job import static_sharing as static_sharing
    from topoopt.clusters.interleave.periodic.periodic_jobs import run_periodic_jobs as run_periodic_jobs
    from topoopt.clusters.interleave.periodic.periodic_packets import (
        periodic_packet_options as periodic_packet_options,
    )
    from topoopt.clusters.interleave.periodic.periodic_packets import (
        run_periodic_packets as run_periodic_packets,
    )
    from topoopt.clusters.interleave.placement import AffinityEdge as AffinityEdge
    from topoopt.clusters.interleave.placement import AffinityGraph as AffinityGraph
    from topoopt.clusters.interleave.placement import Candidate as Candidate
    from topoopt.clusters.interleave.placement import JudgedLink as JudgedLink
    from topoopt.clusters.interleave.placement import JudgedPlacement as JudgedPlacement
    from topoopt.clusters.interleave.placement import PlacementChoice as PlacementChoice
    from topoopt.clusters.interleave.placement import choose_placement as choose_placement
    from topoopt.clusters.interleave.placement import judge_placement as judge_placement
    from topoopt.clusters.interleave.profiles.byte_curve import ByteCurve as ByteCurve
    from topoopt.clusters.interleave.profiles.byte_curve import read_counters as read_counters
    from topoopt.clusters.interleave.profiles.byte_curve import write_counters as write_counters
    from topoopt.clusters.interleave.profiles.job_phases import JobPhases as JobPhases
    from topoopt.clusters.interleave.profiles.measured_profile import MeasuredProfile as MeasuredProfile
    from topoopt.clusters.interleave.profiles.measured_profile import find_period_s as find_period_s
    from topoopt.clusters.interleave.profiles.measured_profile import measured_profile as measured_profile
    from topoopt.clusters.interleave.profiles.phase_fit import Ends as Ends
    from topoopt.clusters.interleave.profiles.phase_fit import busiest_uplink as busiest_uplink
    from topoopt.clusters.interleave.profiles.phase_fit import few_phases as few_phases
    from topoopt.clusters.interleave.profiles.phase_fit import profiles_of_links as profiles_of_links
    from topoopt.clusters.interleave.profiles.profile import CommunicationProfile as CommunicationProfile
    from topoopt.clusters.interleave.profiles.profile import Phase as Phase
    from topoopt.clusters.interleave.profiles.profile import profile_to_mapping as profile_to_mapping
    from topoopt.clusters.interleave.profiles.profile import read_profile as read_profile
    from topoopt.clusters.interleave.profiles.profile import write_profile as write_profile
    from topoopt.clusters.interleave.solvers.rotations import SOLVERS as SOLVERS
    from topoopt.clusters.interleave.unified_circle import UnifiedCircle as UnifiedCircle
    from topoopt.clusters.interleave.unified_circle import compatibility_score as compatibility_score
    from topoopt.clusters.interleave.unified_circle import fitting_quantum_s as fitting_quantum_s
    from topoopt.clusters.interleave.unified_circle import unaligned_score as unaligned_score
    from topoopt.clusters.interleave.unified_circle import unified_circle as unified_circle

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
