"""The groups of verbs: a verb's module is imported when the verb is called; a misspelled one gets the nearest.

A table has the list's entry of each verb, so that ``topoopt --help`` imports none of them. This is the only place
where the command line imports late. Plug-ins complete the table.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from topoopt.base.errors import MOST_NAMES, InvalidInput, TopoOptError, shown, unknown_name
from topoopt.base.limits import MOST, MOST_OF_ANYTHING, finite
from topoopt.base.plugins import DISTRIBUTION, VERBS, EntryPoint, PluginVerb, entry_points
from topoopt.frontends.cli.exit_code import nearest
from topoopt.frontends.cli.help_topics import GROUPS
from topoopt.frontends.cli.synonyms import verb_known_as
from topoopt.schema.words import known_as, read_settings, settings_file

MODULES: Mapping[str, str] = MappingProxyType(
    {
        f"topoopt.frontends.cli.{verb}": f"topoopt.frontends.cli.{file}"
        for file, verbs in {
            "catalog": ("doctor", "hardware", "models"),
            "cost": ("choose",),
            "interleave": ("phases",),
            "plan": ("compare", "traffic"),
            "post_training": ("finetune", "rl"),
            "sweep": ("results",),
            "topology": ("collective",),
        }.items()
        for verb in verbs
    }
)
"""The modules of verbs that share a file with a verb of another name."""
PROGRAM = "topoopt.frontends.cli"
HELP_ALL = "--help-all"
Commands = Mapping[str, EntryPoint | InvalidInput]
"""Commands of plug-ins by verb, or the reason why one cannot be used."""


def help_of(verb: Callable[..., None]) -> str:
    """Return the docstring with each paragraph on one line, for the terminal to wrap."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(verb.__doc__ or "").split("\n\n"))


class Verb(TyperCommand):
    """One verb; its help does not show a flag as if it took a value."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters, ``--help`` among them."""
        return _plain_flags(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any, every: bool = False) -> None:
        """Print the help; in no terminal is a flag cut."""
        import_module("topoopt.frontends.cli.help_page").print_help(ctx, self, every)

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Parse the options; an invalid number raises :class:`~topoopt.base.errors.InvalidInput`."""
        context = super().make_context(*words, **more)
        check_numbers(context)
        return context

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; an option that takes one value is given once, by its own name or a synonym.

        Raises
        ------
        InvalidInput
            With the option that is given again.
        """
        if HELP_ALL in args:
            self.format_help(ctx, ctx.make_formatter(), every=True)
            ctx.exit()
        args = self._own_flags(args)
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for place, parameter in enumerate(given):
            if parameter in given[:place] and not parameter.multiple:
                raise InvalidInput(f"{parameter.opts[-1]}: is given twice; give it once")
        return super().parse_args(ctx, args)

    def _own_flags(self, args: list[str]) -> list[str]:
        """Return the words of a command with synonyms replaced by the flags of this verb."""
        flags = {name: parameter.name for parameter in self.params for name in parameter.opts}
        own = {str(name): flag for flag, name in flags.items()}
        words = []
        for place, word in enumerate(args):
            name, sign, value = word.partition("=")
            given = name.lstrip("-").replace("-", "_")
            ours = known_as(given, own)
            foreign = name.startswith("-") and name not in flags and "--" not in args[:place]
            words.append(f"{own[ours]}{sign}{value}" if foreign and ours else word)
        return words

    def invoke(self, ctx: Any) -> Any:
        """Run the verb; errors in an option name its flag. Defaults give way to the settings file."""
        path = settings_file()
        for name in read_settings(path) if path else ():
            source = ctx.get_parameter_source(name)
            if source is not None and source.name == "DEFAULT":
                ctx.params[name] = None
        try:
            return super().invoke(ctx)
        except TopoOptError as error:
            flags = {parameter.name: parameter.opts[0] for parameter in ctx.command.params}
            raise type(error)(flagged(str(error), flags)) from error


class Verbs(TyperGroup):
    """Verbs, in the order in which one uses them; make one with :func:`group`."""

    package = ""
    table: Mapping[str, str] = {}
    plugin_commands: Commands = MappingProxyType({})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the verb as the list of verbs shows it, without its module.

        Raises
        ------
        InvalidInput
            For an unknown verb.
        """
        if cmd_name in self.table:
            groups = {verb: title for title, verbs in GROUPS.items() for verb in verbs.split()}
            names = list(self.table) if self.package == PROGRAM else [cmd_name]
            near = names[names.index(cmd_name) :: -1]  # a plug-in's verb is in the group of the one before
            panel = next((groups[verb] for verb in near if len(names) > 1 and verb in groups), None)
            return TyperCommand(cmd_name, help=self.table[cmd_name], rich_help_panel=panel)
        if cmd_name.startswith("-"):
            return None
        if self.package == PROGRAM and (ours := verb_known_as(cmd_name)):
            raise InvalidInput(f'verb: unknown name "{cmd_name}"; write topoopt {ours}')
        models = import_module("topoopt.frontends.cli.word_flags").known_models
        if self.package == PROGRAM and cmd_name in models(cmd_name):
            raise InvalidInput(f'verb: "{cmd_name}" is a model; write topoopt plan {cmd_name}')
        if len(self.table) > MOST_NAMES:
            raise InvalidInput(
                f'verb: unknown name "{cmd_name}"{nearest(cmd_name, self.table)} topoopt --help lists all'
            )
        raise unknown_name("verb", cmd_name, self.table)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the verb that was called, its module imported."""
        if args[0] == "help" and args[1:] and args[1] in self.table:
            raise InvalidInput(f'verb: unknown name "help"; write topoopt {args[1]} --help')
        _, command, rest = super().resolve_command(ctx, args)
        name = str(getattr(command, "name", ""))
        return name, load(self.package, name, self.plugin_commands), rest

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters of the program itself, ``--help`` among them."""
        return _plain_flags(super().get_params(ctx))

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Parse the options; Ctrl-C is an ``Abort`` here, too."""
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


def group(package: str, table: Mapping[str, str], text: str, commands: Commands | None = None) -> typer.Typer:
    """Return a group of verbs; a table has their lines.

    Each is in the module of its name in a package, or in the one that :data:`MODULES` names; or all are in one module,
    whose name then ends in a colon. Those of plug-ins are elsewhere.
    """
    verbs = typer.Typer(
        cls=type("Verbs", (Verbs,), {"package": package, "table": table, "plugin_commands": commands or {}}),
        no_args_is_help=True,
        add_completion=package == PROGRAM,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        help=text,
    )
    verbs.callback()(lambda: None)  # a verb that is the only one of its group stays a word of its own
    return verbs


def lines_of(*verbs: Callable[..., None]) -> Mapping[str, str]:
    """Return the table of verbs that are all in one module: of each the first paragraph of its docstring."""
    return MappingProxyType({verb.__name__: help_of(verb).partition("\n\n")[0] for verb in verbs})


def completed(table: Mapping[str, str]) -> tuple[Mapping[str, str], Commands]:
    """Return a table with the verbs of plug-ins in their places, and where the commands of these are.

    A verb that cannot be used has the reason as its line, and the others go on.
    """
    lines, commands = dict(table), dict[str, EntryPoint | InvalidInput]()
    for one in entry_points(VERBS):
        after = ""
        try:
            if one.name in lines:
                owner = commands.get(one.name)
                other = owner.distribution if isinstance(owner, EntryPoint) else DISTRIBUTION
                raise one.error(f"{other} has a verb of that name, too")
            verb = one.load_as(PluginVerb)
            line, after, commands[one.name] = verb.text, verb.after, replace(one, place=verb.command)
        except InvalidInput as error:
            line, commands[one.name] = str(error).replace("[", r"\["), error  # brackets would be markup
        order = list(lines.items())
        place = list(lines).index(after) + 1 if after in lines else len(order)
        lines = dict([*order[:place], (one.name, line), *order[place:]])
    return lines, commands


def load(package: str, name: str, commands: Commands | None = None) -> Any:
    """Return the verb or the group of verbs of a package, or of a plug-in, which may be unusable."""
    word = name.replace("-", "_")
    place = (commands or {}).get(name)
    if isinstance(place, InvalidInput):
        raise place
    if place is None:
        module, colon, _ = package.partition(":")
        own = f"{module}.{word}"
        verb = getattr(import_module(module if colon else MODULES.get(own, own)), word)
    else:
        verb = place.load()
    return _command(verb, name)


@cache
def _command(verb: Any, name: str) -> Any:
    command: Any
    if isinstance(verb, typer.Typer):
        command = typer.main.get_group(verb)
    else:
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        alone.command(name, cls=Verb, help=help_of(verb))(verb)
        command = typer.main.get_command(alone)
    command.name = name
    return command


def flagged(message: str, names: Mapping[str, str]) -> str:
    """Return a message of the library with a verb's options written as flags; ``names`` maps options to flags.

    Options are recognized at the beginning of the message, before ``=`` and a value, or by an underscore. Before a
    colon at the beginning an option may be one of several, or have its unit. Keys in a file are no flags. Options of
    other verbs are flags behind the name of a command.

    Examples
    --------
    >>> words = {"tp": "--tp", "max_vpp": "--max-vpp", "fabrics": "--fabrics"}
    >>> flagged("tp 3: does not divide 8; give tp=2, or max_vpp", words)
    '--tp 3: does not divide 8; give --tp 2, or --max-vpp'
    >>> flagged('fabric: unknown name "rial"', words)
    '--fabrics: unknown name "rial"'
    >>> flagged("job.yaml: training.tp 3: does not divide 8; max_vpp is there, too", words)
    'job.yaml: training.tp 3: does not divide 8; max_vpp is there, too'
    >>> flagged("t: give fabrics='tp=3, max_vpp=a b'", words)
    "t: give --fabrics 'tp=3, max_vpp=a b'"
    >>> flagged("w.csv: is a table; topoopt cost takes it as power=w.csv", {})
    'w.csv: is a table; topoopt cost takes it as --power w.csv'
    """
    flags = {name.removeprefix("--").replace("-", "_"): name for name in names.values()} | dict(names)
    flags = {word: name for word, name in flags.items() if name.startswith("--")}
    message = re.sub(
        r"""(?<![\w.{-])(?<!--set )([a-z][a-z_]*)=(?:"([^" ]*)"|('[^']*')|(?=['"\w{/.~]))""",
        lambda word: (
            f"{flags.get(word[1], '--' + word[1].replace('_', '-'))} {word[2] or word[3] or ''}"
            if word[1] in flags or re.search(r"\b(topoopt|verbs) ", message[: word.start()])
            else word[0]
        ),
        message,
    )
    if re.match(r"\S*\.\w+: ", message):  # of a file
        return message
    message = re.sub(
        r"^[a-z][a-z_]*(?=[ :])(?! \S+\.[a-z]+:)", lambda word: flags.get(word[0], word[0]), message
    )
    message = re.sub(r"^[a-z][a-z_]*(?=:)", lambda word: _flag(word[0], flags), message)
    return re.sub(r"(?<![\w.{-])[a-z]+(?:_[a-z]+)+\b(?!=)", lambda word: flags.get(word[0], word[0]), message)


def _flag(word: str, flags: Mapping[str, str]) -> str:
    """Return the flag of the plural of an option, or of the option without its unit; else the option."""
    names = f"{word}s", word.rpartition("_")[0]
    return next((flags[name] for name in names if name in flags), word)


def _plain_flags(parameters: Any) -> Any:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""  # "<bool>" otherwise
    return parameters


def check_numbers(context: Any) -> None:
    """Refuse integers above :data:`~topoopt.base.limits.MOST` and numbers that are not finite, by their flags.

    Raises
    ------
    InvalidInput
        With the flag, the limit and the value.
    """
    for parameter in context.command.params:
        value, flag = context.params.get(parameter.name), parameter.opts[-1]
        if isinstance(value, float):
            finite(flag, value)
        elif isinstance(value, int) and not isinstance(value, bool):
            most = MOST.get(flag.removeprefix("--").replace("-", "_"), MOST_OF_ANYTHING)
            if abs(value) > most:
                raise InvalidInput(f"{flag}: expected an integer <= {most}, got {shown(value)}")


def check_words(words: list[str]) -> None:
    """Refuse arguments that are not UTF-8, such as old file names; no result could name them.

    Raises
    ------
    InvalidInput
        With the place of the word.
    """
    for place, word in enumerate(words, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f'word {place}: "{word}" is not UTF-8 text; give the file another name'
            ) from None
