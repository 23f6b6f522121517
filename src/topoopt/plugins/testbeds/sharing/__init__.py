"""Periodic training jobs that share one link of this machine: real processes, real TCP, several congestion controls."""
