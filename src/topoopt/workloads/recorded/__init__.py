"""Recorded communication of a run, folded onto servers: NCCL logs, PyTorch's traces, SimAI's workloads."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.workloads.recorded.read import is_recorded as is_recorded
    from topoopt.workloads.recorded.read import read_recording as read_recording
    from topoopt.workloads.recorded.read import recorded_files as recorded_files
    from topoopt.workloads.recorded.recording import ALL_TO_ALL as ALL_TO_ALL
    from topoopt.workloads.recorded.recording import Call as Call
    from topoopt.workloads.recorded.recording import Calls as Calls
    from topoopt.workloads.recorded.recording import DeviceTimes as DeviceTimes
    from topoopt.workloads.recorded.recording import IterationTimes as IterationTimes
    from topoopt.workloads.recorded.recording import Recording as Recording
    from topoopt.workloads.recorded.recording import scale_up_s as scale_up_s
    from topoopt.workloads.recorded.server_traffic import folded_matrix as folded_matrix
    from topoopt.workloads.recorded.server_traffic import recorded_times as recorded_times
    from topoopt.workloads.recorded.server_traffic import recorded_traffic as recorded_traffic
    from topoopt.workloads.recorded.server_traffic import servers_of_ranks as servers_of_ranks
    from topoopt.workloads.recorded.simai_workload import SimaiWorkload as SimaiWorkload
    from topoopt.workloads.recorded.simai_workload import begins_as_workload as begins_as_workload
    from topoopt.workloads.recorded.simai_workload import is_simai_workload as is_simai_workload
    from topoopt.workloads.recorded.simai_workload import simai_recording as simai_recording
    from topoopt.workloads.recorded.simai_workload import simai_workload as simai_workload

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
