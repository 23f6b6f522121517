"""Operators measured on real hardware."""

from topoopt.plugins.profiling.device import PRECISIONS as PRECISIONS
from topoopt.plugins.profiling.device import check_device as check_device
from topoopt.plugins.profiling.measure import Repetitions as Repetitions
from topoopt.plugins.profiling.run import INTERRUPTED as INTERRUPTED
from topoopt.plugins.profiling.run import TIME_LIMIT as TIME_LIMIT
from topoopt.plugins.profiling.run import ProfileRun as ProfileRun
from topoopt.plugins.profiling.run import measure_subject as measure_subject
from topoopt.plugins.profiling.run import measure_to_file as measure_to_file
from topoopt.plugins.profiling.shapes import infer_shapes as infer_shapes
from topoopt.plugins.profiling.subject import MICRO_BATCHES as MICRO_BATCHES
from topoopt.plugins.profiling.subject import TENSOR_DEGREES as TENSOR_DEGREES
from topoopt.plugins.profiling.subject import Subject as Subject
from topoopt.plugins.profiling.subject import only_operators as only_operators
from topoopt.plugins.profiling.subject import subject_of_job as subject_of_job
from topoopt.plugins.profiling.subject import subject_of_transformer as subject_of_transformer
