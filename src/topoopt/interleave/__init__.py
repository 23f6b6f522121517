"""Jobs that share links: when each sends (CASSINI), and congestion control that finds it by itself (MLTCP)."""

from topoopt.interleave.profile import CommunicationProfile as CommunicationProfile
from topoopt.interleave.profile import Phase as Phase
