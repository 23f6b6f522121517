"""The words of a testbed: which fabric, how much slower, what it is called."""

from typing import Annotated, TypedDict

from topoopt.words.word import Word


class TestbedWords(TypedDict, total=False):
    """What is built."""

    __test__ = False  # type: ignore[misc]

    fabric: Annotated[str, Word("NAME", "topoopt")]
    """topoopt: the plan's own links. ideal-switch: one switch, d·B a server. fat-tree: d·B/3.2 (the paper's equal
    cost). switch: B."""
    scale: Annotated[float, Word("N", 1000.0)]
    """Links are so many times slower than those of the plan."""
    name: Annotated[str, Word("NAME")]
    """What it is called; if not given, a name of its own."""
