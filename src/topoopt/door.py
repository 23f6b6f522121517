"""From a noun up to the verbs: a method such as ``plan.simulate`` asks the front door, when it is called.

Rooms import only from floors below their own, and nouns are made below the verbs. So the way up is by name.
"""

from importlib import import_module
from typing import Any


def ask(verb: str, *arguments: Any, **words: Any) -> Any:
    """Return what ``topoopt.<verb>(...)`` answers."""
    return getattr(import_module("topoopt"), verb)(*arguments, **words)
