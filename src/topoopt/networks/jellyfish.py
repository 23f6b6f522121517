"""Jellyfish: a random regular graph of switches, with servers below each."""

from __future__ import annotations

from topoopt import topologies
from topoopt.finder import network_of_planes

NETWORK = network_of_planes(
    topologies.jellyfish,
    "jellyfish",
    "Jellyfish",
    "a random graph of switches, a third of their ports for servers",
    settings={"ports", "per_switch"},
    order=65,
)
