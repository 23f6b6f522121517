"""MLTCP: congestion control that with which jobs that share a link interleave by themselves."""
