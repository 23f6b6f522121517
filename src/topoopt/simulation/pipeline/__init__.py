"""Pipelined iterations as task graphs."""
