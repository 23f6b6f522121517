"""Verbs with whole vocabularies: each option is a flag, and given values are passed as one mapping."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_origin, is_typeddict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput, refuse_repeated
from topoopt.catalog import NETWORKS  # noqa: F401 - texts contain its lists
from topoopt.frontends.cli.output import reporting
from topoopt.schema.words import DescribedWord, as_flag, described

NONE = "none"
WITHOUT_PAGE = ("report", "reproduce", "studio")
"""Verbs whose answer is no page, or already one."""


def known_models(incomplete: str) -> list[str]:
    """Return the built-in models that begin like an incomplete name, for the completion of a shell."""
    listed = topoopt.models().to_json()
    names = [row["model"] for row in listed["models"]] + [
        row["transformer"] for row in listed["transformers"]
    ]
    return [name for name in names if name.startswith(incomplete)]


TRANSFORMER = Argument(
    metavar="MODEL|config.json",
    show_default=False,
    autocompletion=known_models,
    help="A transformer (topoopt models), or the config.json of Hugging Face.",
)
"""The first word of verbs about transformers."""
REPORT = Annotated[
    str | None,
    Option(
        "--report",
        metavar="FILE",
        show_default=False,
        rich_help_panel="Output",
        help="Write the answer as one HTML page.",
    ),
]
"""A flag of every verb with an answer."""


def refuse_beside_runs(
    model: str | None, words: Mapping[str, Any], usual: Mapping[str, Any], of_one: Sequence[str] = ()
) -> None:
    """Refuse options that a table of runs gives row by row: a model, and flags that differ from their defaults.

    Parameters
    ----------
    of_one
        Flags without a column in the table.

    Raises
    ------
    InvalidInput
        With the first of them.
    """
    flags = ["MODEL"] if model is not None else []
    flags += [f"--{word.replace('_', '-')}" for word, value in words.items() if value != usual.get(word)]
    if flags and flags[0] in of_one:
        raise InvalidInput(f"{flags[0]}: is for one way of training, not for a table of runs; leave it out")
    if flags:
        raise InvalidInput(f"{flags[0]}: with --runs, every row of the table says its own; leave it out")


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the verb with each vocabulary parameter replaced by one parameter per option.

    The verb itself is called with the options that were given or have a default.
    """
    signature = inspect.signature(verb, eval_str=True)
    vocabularies = {
        name: described(parameter.annotation)
        for name, parameter in signature.parameters.items()
        if is_typeddict(parameter.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in vocabularies:
            parameters += [_parameter(word) for word in vocabularies[name]]
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    if "as_json" in signature.parameters and verb.__name__ not in WITHOUT_PAGE:
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter("report", kind, default=None, annotation=REPORT))

    def run(report: str | None = None, **values: Any) -> None:
        for name, vocabulary in vocabularies.items():
            flags = {word.name: (word, values.pop(word.name)) for word in vocabulary}
            values[name] = {
                key: _value(word, value) for key, (word, value) in flags.items() if value not in (None, [])
            }
        given = [one for value in values.values() for one in (value if isinstance(value, list) else [value])]
        with reporting(report, *(one for one in given if isinstance(one, str))):
            verb(**values)

    run.__name__, run.__doc__, run.__module__ = verb.__name__, verb.__doc__, verb.__module__
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameter(described_word: DescribedWord) -> inspect.Parameter:
    word = described_word.word
    # ``words`` as flags, and no brackets that would be markup
    with_flags = re.sub(r"``(\w+)``", lambda word: as_flag(word[1]), described_word.text)
    option = Option(
        *_flags(described_word),
        metavar=word.form,
        rich_help_panel=described_word.panel,
        help=re.sub(r"\[(?=[a-z])", r"\\[", with_flags),
        autocompletion=_completion(word.form or ""),
    )
    # the type of a flag's value: a number, or text
    if described_word.kind in (int, float, bool):
        kind = described_word.kind
    else:
        kind = list[str] if described_word.word.repeated or _is(described_word, Mapping) else str
    return inspect.Parameter(
        described_word.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=word.default,
        annotation=Annotated[kind if word.default is not None else kind | None, option],
    )


def _completion(form: str) -> Callable[[str], list[str]] | None:
    """Return the function that completes the value of a flag; None where its form is no list of names."""

    def begun(incomplete: str) -> list[str]:
        return [one for one in form.split("|") if one.startswith(incomplete) and one.islower()]

    return begun if "|" in form else None


def _flags(described_word: DescribedWord) -> Sequence[str]:
    word, name = described_word.word, described_word.name.replace("_", "-")
    either = described_word.kind is bool and word.default is not False
    names = word.names or (f"{name}/no-{name}" if either else name,)
    return [f"--{one.replace('/', '/--')}" for one in names]


def _value(described_word: DescribedWord, value: Any) -> Any:
    if _is(described_word, Mapping):
        return changed(described_word.name, value)
    if _is(described_word, Sequence) and not described_word.word.repeated:
        return listed(value, _flags(described_word)[-1], described_word.word.commas)
    return value


def _is(described_word: DescribedWord, kind: type) -> bool:
    return get_origin(described_word.kind) is kind


def listed(text: str, flag: str, what: str) -> tuple[str, ...]:
    """Return the items of ``a,b,c``; empty for ``none``.

    Raises
    ------
    InvalidInput
        For an empty list, and for a repeated item.
    """
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    refuse_repeated(flag, words)
    if not words:
        raise InvalidInput(f'{flag}: expected {what}, got "{text}"')
    return () if words == (NONE,) else words


def changed(word: str, pairs: Sequence[str]) -> dict[str, str]:
    """Return ``KEY=VALUE`` texts as a mapping, keys with underscores.

    Raises
    ------
    InvalidInput
        If one is no such text, or a key is given twice.
    """
    values: dict[str, str] = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.strip() or not value.strip():
            raise InvalidInput(f'{word}: expected KEY=VALUE such as tables=32, got "{pair}"')
        name = key.strip().replace("-", "_")
        if name in values:
            raise InvalidInput(f"{word}: {name} is given twice, {values[name]} and {value.strip()}")
        values[name] = value.strip()
    return values
