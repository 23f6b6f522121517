"""MLTCP: congestion control that lets jobs on one link find their interleaving by themselves."""

from topoopt.interleave.mltcp.theory import iterations_to_converge as iterations_to_converge
from topoopt.interleave.mltcp.theory import loss as loss
from topoopt.interleave.mltcp.theory import next_offset as next_offset
from topoopt.interleave.mltcp.theory import offsets as offsets
from topoopt.interleave.mltcp.theory import overlapped_iteration_time_s as overlapped_iteration_time_s
from topoopt.interleave.mltcp.theory import settled_iteration_time_s as settled_iteration_time_s
from topoopt.interleave.mltcp.theory import shift_s as shift_s
