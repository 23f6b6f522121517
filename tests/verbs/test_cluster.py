"""The cluster of the library is that of the command line."""

from dataclasses import fields

from topoopt.cli.cluster_arguments import ClusterArguments
from topoopt.verbs.cluster.words import MACHINE


def test_the_flags_show_the_defaults_of_the_library() -> None:
    assert {field.name: field.default for field in fields(ClusterArguments)} == dict(MACHINE)
