"""The group of verbs: a misspelled one is answered with the nearest, an interrupted one says so."""

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from topoopt.errors import unknown_name

BEHIND = {"cluster": "simulate", "llm": "traffic"}
"""Groups of verbs, which the parser puts last, and the verb behind which each belongs."""


def help_of(verb: Callable[..., None]) -> str:
    """Return the docstring with each paragraph on one line, for the terminal to wrap."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(verb.__doc__ or "").split("\n\n"))


class Verb(TyperCommand):
    """One verb; its help does not show a flag as if it took a value."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, ``--help`` among them."""
        return _plain_flags(super().get_params(ctx))


class Verbs(TyperGroup):
    """All verbs, in the order in which one uses them."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the verb; an unknown one is an :class:`~topoopt.errors.InvalidInput`."""
        if cmd_name not in self.commands and not cmd_name.startswith("-"):
            raise unknown_name("verb", cmd_name, self.commands)
        return super().get_command(ctx, cmd_name)

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters of the program itself, ``--help`` among them."""
        return _plain_flags(super().get_params(ctx))

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Read the words; Ctrl-C is an ``Abort`` here, too."""
        try:
            return super().make_context(*words, **more)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; Ctrl-C is an ``Abort``, which the parser does not swallow."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the verbs as they were added, not by the alphabet; groups where :data:`BEHIND` says."""
        names = [name for name in self.commands if name not in BEHIND]
        for group, verb in BEHIND.items():
            if group in self.commands:
                names.insert(names.index(verb) + 1, group)
        return names


def _plain_flags(parameters: Any) -> Any:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""  # "<bool>" otherwise
    return parameters
