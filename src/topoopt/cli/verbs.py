"""The group of verbs: a misspelled one is answered with the nearest, an interrupted one says so."""

from typing import Any

import typer
from typer.core import TyperGroup

from topoopt.errors import unknown_name


class Verbs(TyperGroup):
    """All verbs, in the order in which one uses them."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the verb; an unknown one is an :class:`~topoopt.errors.InvalidInput`."""
        if cmd_name not in self.commands and not cmd_name.startswith("-"):
            raise unknown_name("verb", cmd_name, self.commands)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; Ctrl-C is an ``Abort``, which the parser does not swallow."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Abort from None

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the verbs as they were added, not by the alphabet."""
        return list(self.commands)
