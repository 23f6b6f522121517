"""The noun ForeignGraph: what a graph file of others says, before its servers have numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.base.errors import InvalidInput, shown

LONGEST_NAME = 200
"""Characters of a server's name."""


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node: where it stands in the file, its name there, and its attributes."""

    place: str
    name: str
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignLink:
    """A link: where it stands in the file, the names of its two ends, and its attributes."""

    place: str
    ends: tuple[str, str]
    says: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignGraph:
    """Nodes and links as a file has them.

    Attributes
    ----------
    syntax : str
        GraphML, DOT, node-link JSON, or list of links.
    nodes : tuple of ForeignNode
        In the order of the file; those that only links name are not among them.
    links : tuple of ForeignLink
    directed : bool, optional
        What the file says; None where it says nothing.
    says : mapping
        Attributes of the graph.
    all_named : bool
        Whether every node has to be among ``nodes``.
    """

    syntax: str
    nodes: tuple[ForeignNode, ...]
    links: tuple[ForeignLink, ...]
    directed: bool | None = None
    says: Mapping[str, Any] = field(default_factory=dict)
    all_named: bool = False


def node_name(value: Any, place: str) -> str:
    """Return the name of a node as text: numbers as they are, tuples of a grid as networkx prints them.

    Raises
    ------
    InvalidInput
        If it is neither text nor a number, is empty, or longer than :data:`LONGEST_NAME`.
    """
    if isinstance(value, list) and value and all(_is_plain(one) for one in value):
        value = repr(tuple(value))
    if not _is_plain(value) or not str(value).strip() or len(str(value)) > LONGEST_NAME:
        raise InvalidInput(f"{place}: expected the name or number of a server, got {shown(value)}")
    return str(value).strip()


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
