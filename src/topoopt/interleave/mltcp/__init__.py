"""MLTCP: congestion control that lets jobs on one link find their interleaving by themselves."""

from topoopt.interleave.mltcp.comparison import FLUID as FLUID
from topoopt.interleave.mltcp.comparison import SharingComparison as SharingComparison
from topoopt.interleave.mltcp.comparison import check_ways as check_ways
from topoopt.interleave.mltcp.comparison import compare_ways as compare_ways
from topoopt.interleave.mltcp.course import Course as Course
from topoopt.interleave.mltcp.course import JobCourse as JobCourse
from topoopt.interleave.mltcp.course import offsets_s as offsets_s
from topoopt.interleave.mltcp.prediction import Prediction as Prediction
from topoopt.interleave.mltcp.prediction import predict as predict
from topoopt.interleave.mltcp.question import SharingQuestion as SharingQuestion
from topoopt.interleave.mltcp.question import equal_jobs as equal_jobs
from topoopt.interleave.mltcp.theory import iterations_to_converge as iterations_to_converge
from topoopt.interleave.mltcp.theory import loss as loss
from topoopt.interleave.mltcp.theory import next_offset as next_offset
from topoopt.interleave.mltcp.theory import offsets as offsets
from topoopt.interleave.mltcp.theory import overlapped_iteration_time_s as overlapped_iteration_time_s
from topoopt.interleave.mltcp.theory import settled_iteration_time_s as settled_iteration_time_s
from topoopt.interleave.mltcp.theory import shift_s as shift_s
from topoopt.interleave.mltcp.ways import WAYS as WAYS
