"""The help of a verb: common flags and examples, or all flags; none is cut, however narrow the terminal."""

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from topoopt.frontends.cli.help_topics import COMMON, EXAMPLES, FEW, OF_VERB

LEAST_TEXT = 24
"""Least width of a flag's text; if there is less, the text goes below the flag."""

WIDE = 100
"""Columns of a terminal from which on there is more room for choices."""

CHOICES_WIDE = {True: 34, False: 18}
"""Characters of choices in a line, in a wide terminal and in a narrow one; one choice is never broken."""

AROUND = 8
"""Columns that the frame of a box and the gaps between its columns take."""

Row = tuple[str, str, Text]
"""The names of a parameter, the form of its values, and its text."""


def print_help(context: Any, command: Any, every: bool = False) -> None:
    """Print usage, the verb's text, a box for each heading of its parameters, and examples.

    Parameters
    ----------
    every
        Whether the flags are shown that are not common, too.
    """
    console = Console(highlight=False)
    verb = context.command_path.partition(" ")[2]
    console.print(Padding(Text(command.get_usage(context), "bold"), 1))
    if command.help:
        first, *others = command.help.split("\n\n")
        paragraphs = Text("\n\n").join(
            [Text.from_markup(first), *(Text.from_markup(one, style="dim") for one in others)]
        )
        console.print(Padding(paragraphs, (0, 1, 1, 1)))
    flags = [one for one in _shown(context, command) if one.param_type_name != "argument"]
    common = f"{COMMON} {OF_VERB.get(verb, '')}".split()
    rest = [] if every or len(flags) <= FEW else [one for one in flags if one.name not in common]
    for title, rows in rows_by_heading(context, command, rest, console.width >= WIDE).items():
        box = _rows(rows, console.width)
        console.print(Panel(box, title=title, title_align="left", border_style="dim"))
    commands = (
        wrap(f"topoopt {line}", console.width - 8, break_on_hyphens=False, subsequent_indent="    ")
        for line in EXAMPLES.get(verb, ())
    )
    examples = Text("\n".join(" \\\n".join(lines) for lines in commands))
    if examples:
        console.print(Panel(examples, title="Examples", title_align="left", border_style="dim"))
    if rest:
        console.print(Padding(f"{len(rest)} more options: topoopt {verb} --help-all", (0, 1)))


def rows_by_heading(
    context: Any, command: Any, without: Sequence[Any] = (), wide: bool = True
) -> dict[str, list[Row]]:
    """Return the rows of the parameters of a verb, by the heading that they stand under."""
    boxes: dict[str, list[Row]] = {"Arguments": [], "Options": []}
    for parameter in _shown(context, command):
        if parameter not in without:
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            heading = getattr(parameter, "rich_help_panel", None) or usual
            boxes.setdefault(heading, []).append(_row(parameter, context, wide))
    return {heading: rows for heading, rows in boxes.items() if rows}


def _shown(context: Any, command: Any) -> list[Any]:
    return [one for one in command.get_params(context) if not getattr(one, "hidden", False)]


def _rows(rows: Sequence[Row], width: int) -> RenderableType:
    """Return flags, values and texts side by side; texts without room go below."""
    names, values = (max(map(_widest, column)) for column in list(zip(*rows, strict=True))[:2])
    if width - names - values - AROUND < LEAST_TEXT:
        lines: list[RenderableType] = []
        for name, value, text in rows:
            lines += [Text(name, "bold cyan"), Padding(text, (0, 0, 0, 4))]
            if value:
                lines.insert(-1, Padding(Text(value, "bold yellow"), (0, 0, 0, 4)))
        return Group(*lines)
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, value, text in rows:
        table.add_row(Text(name, "bold cyan"), Text(value, "bold yellow"), text)
    return table


def _row(parameter: Any, context: Any, wide: bool) -> Row:
    described = parameter.help or ""
    _, record = parameter.get_help_record(context)
    more = record.removeprefix(described).strip()
    text = Text.from_markup(" ".join(described.split()))
    if more:
        text.append(f" {more}", style="dim")
    if parameter.param_type_name == "argument":
        return parameter.metavar or parameter.name.upper(), "", text
    choices = (parameter.metavar or "").split("|")
    return _names(parameter), "\n".join(_lines(choices, CHOICES_WIDE[wide])), text


def _names(parameter: Any) -> str:
    """Return the names of a flag; a switch and its opposite as one."""
    first, *_ = parameter.opts
    if parameter.secondary_opts == [f"--no-{first.removeprefix('--')}"]:
        return f"--[no-]{first.removeprefix('--')}"
    return "\n".join((*parameter.opts, *parameter.secondary_opts))


def _lines(choices: Iterable[str], most: int) -> list[str]:
    """Return choices with a bar between, in lines of at most ``most`` characters where possible."""
    first, *others = choices
    lines = [first]
    for choice in others:
        joined = f"{lines[-1]}|{choice}"
        lines[-1:] = [joined] if len(joined) <= most else [lines[-1] + "|", choice]
    return lines


def _widest(text: str | Text) -> int:
    return max(map(len, str(text).split("\n")))
