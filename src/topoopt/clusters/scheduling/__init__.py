"""Schedulers at work on a network of single workers."""
