"""Jobs that share links: when each sends (CASSINI), and congestion control that finds it by itself (MLTCP)."""

from topoopt.interleave.affinity import AffinityEdge as AffinityEdge
from topoopt.interleave.affinity import AffinityGraph as AffinityGraph
from topoopt.interleave.circle import QUANTUM_S as QUANTUM_S
from topoopt.interleave.circle import STEP_DEG as STEP_DEG
from topoopt.interleave.circle import UnifiedCircle as UnifiedCircle
from topoopt.interleave.circle import fitting_quantum_s as fitting_quantum_s
from topoopt.interleave.circle import unified_circle as unified_circle
from topoopt.interleave.interleaving import Interleaving as Interleaving
from topoopt.interleave.interleaving import interleave as interleave
from topoopt.interleave.merging import MERGING as MERGING
from topoopt.interleave.merging import MergedLink as MergedLink
from topoopt.interleave.merging import merge_links as merge_links
from topoopt.interleave.nearest_period import NearestPeriod as NearestPeriod
from topoopt.interleave.profile import CommunicationProfile as CommunicationProfile
from topoopt.interleave.profile import Phase as Phase
from topoopt.interleave.profile_file import profile_schema as profile_schema
from topoopt.interleave.profile_file import profile_to_mapping as profile_to_mapping
from topoopt.interleave.profile_file import read_profile as read_profile
from topoopt.interleave.profile_file import write_profile as write_profile
from topoopt.interleave.score import compatibility_score as compatibility_score
from topoopt.interleave.shared_link import SharedLink as SharedLink
from topoopt.interleave.shared_link import highest_profile as highest_profile
from topoopt.interleave.solvers import SOLVERS as SOLVERS
