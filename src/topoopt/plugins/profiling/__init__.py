"""Operators measured on real hardware."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:  # the list of verbs needs none of it
    from topoopt.plugins.profiling.device import check_device as check_device
    from topoopt.plugins.profiling.measure import Repetitions as Repetitions
    from topoopt.plugins.profiling.profile import profile as profile
    from topoopt.plugins.profiling.profile import profile_subject as profile_subject
    from topoopt.plugins.profiling.run import ProfileRun as ProfileRun
    from topoopt.plugins.profiling.run import measure_subject as measure_subject
    from topoopt.plugins.profiling.run import measure_to_file as measure_to_file
    from topoopt.plugins.profiling.shapes import infer_shapes as infer_shapes
    from topoopt.plugins.profiling.subject import Subject as Subject
    from topoopt.plugins.profiling.subject import only_operators as only_operators
    from topoopt.plugins.profiling.subject import subject_of_job as subject_of_job
    from topoopt.plugins.profiling.subject import subject_of_transformer as subject_of_transformer

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
