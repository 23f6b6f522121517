"""MLTCP: congestion control that lets jobs on one link find their interleaving by themselves."""
