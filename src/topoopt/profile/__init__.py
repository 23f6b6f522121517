"""Operators measured on real hardware."""

from topoopt.profile.device import PRECISIONS as PRECISIONS
from topoopt.profile.device import check_device as check_device
from topoopt.profile.inference import infer_shapes as infer_shapes
from topoopt.profile.measure import Repetitions as Repetitions
from topoopt.profile.model_subject import subject_of_job as subject_of_job
from topoopt.profile.run import INTERRUPTED as INTERRUPTED
from topoopt.profile.run import TIME_LIMIT as TIME_LIMIT
from topoopt.profile.run import ProfileRun as ProfileRun
from topoopt.profile.run import measure_subject as measure_subject
from topoopt.profile.run import measure_to_file as measure_to_file
from topoopt.profile.subject import Subject as Subject
from topoopt.profile.subject import only_operators as only_operators
from topoopt.profile.transformer_subject import MICRO_BATCHES as MICRO_BATCHES
from topoopt.profile.transformer_subject import TENSOR_DEGREES as TENSOR_DEGREES
from topoopt.profile.transformer_subject import subject_of_transformer as subject_of_transformer
