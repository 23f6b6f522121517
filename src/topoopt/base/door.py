"""From a noun up to the verbs: a method such as ``plan.simulate`` asks the front door, when it is called.

Rooms import only from floors below their own, and nouns are made below the verbs. So the way up is by name.
"""

from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")


def ask(verb: str, *arguments: Any, **words: Any) -> Any:
    """Return what ``topoopt.<verb>(...)`` answers."""
    return getattr(import_module("topoopt"), verb)(*arguments, **words)


def shows_itself(kind: type[T]) -> type[T]:
    """Let a kind of answer show its page: as text in a shell, drawn in a notebook."""

    def text(answer: T) -> str:
        return str(ask("page_text", ask("page_of", answer))).strip("\n")

    def drawn(answer: T) -> str:
        return str(ask("notebook_html", answer))

    for name, method in (("__str__", text), ("__repr__", text), ("_repr_html_", drawn)):
        setattr(kind, name, method)
    return kind
