"""The commands: ``corpus/NAME.txt`` has one a line, without ``topoopt``; ``#`` begins a comment, ``$``
a line for the shell that makes a file.

The commands of a file are run in their order in a folder of their own with a copy of ``examples/``, so that one reads
what another has written.
"""

import shlex
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

SHELL = "$ "
"""Before a line for the shell, which makes a file that commands read."""

FOLDER = Path(__file__).with_name("corpus")


@dataclass(frozen=True)
class Group:
    """Commands that share a folder."""

    name: str
    lines: tuple[str, ...]

    @property
    def commands(self) -> tuple[str, ...]:
        """Return the lines that are commands of the program."""
        return tuple(line for line in self.lines if not line.startswith(SHELL))


def read_corpus(folder: Path = FOLDER) -> list[Group]:
    """Return the groups by name; a command that stands twice in a group is refused."""
    groups = []
    for path in sorted(folder.glob("*.txt")):
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
        group = Group(path.stem, tuple(line for line in lines if line and not line.startswith("#")))
        twice = [line for line, times in Counter(group.commands).items() if times > 1]
        if twice:
            raise ValueError(f"{path.name}: stands twice: {twice[0]}")
        groups.append(group)
    return groups


def words_of(command: str) -> list[str]:
    """Return the arguments of a command, as a shell would."""
    return shlex.split(command)
