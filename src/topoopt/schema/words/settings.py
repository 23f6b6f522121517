"""Calls of verbs: arguments are checked, and the settings file gives those that are missing.

The settings file has a user's own machine, prices and objectives.

It is ``$XDG_CONFIG_HOME/topoopt/settings.toml``, with arguments of the verbs as keys. The environment variable
``TOPOOPT_SETTINGS`` names another file, or ``none``.
"""

import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, Unpack, get_args, get_origin, get_type_hints

from topoopt.base.answers import digest
from topoopt.base.errors import InvalidInput, Note, hint
from topoopt.base.units import format_bandwidth, parse_bandwidth
from topoopt.schema.words.arguments import Word, amount, check_kind, check_names, kind_and_word, kinds_of
from topoopt.schema.words.cost import PricingWords, RunningWords
from topoopt.schema.words.plan import MachineWords
from topoopt.schema.words.serving import ObjectiveWords
from topoopt.schema.words.synonyms import known_as
from topoopt.schema.words.wiring import CollectiveRankWords

SETTINGS_VARIABLE, IGNORED_SETTINGS = "TOPOOPT_SETTINGS", "none"
PER_ACCELERATOR = "network_bandwidth"
"""Setting of the bandwidth per accelerator, which some verbs call ``bandwidth``, a word of ports elsewhere."""
_WHOLE = frozenset({"plan", "job", "serving-job", "comparison", "cluster-result", "wiring", "sweep", "mix"})
"""Kinds of files that describe their machine."""


def settings_file() -> Path | None:
    """Return the settings file that is in use; None where there is none, or it is ignored."""
    chosen = os.environ.get(SETTINGS_VARIABLE)
    if chosen is not None:
        return None if chosen in ("", IGNORED_SETTINGS) else Path(chosen)
    path = usual_settings_file()
    return path if path is not None and path.is_file() else None


def usual_settings_file() -> Path | None:
    """Return where the settings file is looked for; None for a user without a home folder."""
    try:
        folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    except RuntimeError:
        return None
    return Path(folder) / "topoopt" / "settings.toml"


_TAKEN: Mapping[str, Sequence[str]] = {
    "calibration": ("calibration", "device-profile"),
    "cluster": ("cluster",),
    "power": ("watts",),
    "prices": ("prices",),
    "profile_file": ("device-profile", "flexnet-profile"),
    "rates": ("rates",),
    "runs": ("runs",),
    "trace": ("trace", "request-trace"),
    "wiring": ("wiring", "plan"),
}
"""Kinds of files that a word takes, in every verb that has it."""


Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


@cache
def _machine_kinds() -> Mapping[str, Any]:
    machine = get_type_hints(MachineWords)
    kinds = {name: kind for name, kind in machine.items() if name not in ("cluster", "servers")}
    return {**kinds, PER_ACCELERATOR: get_type_hints(CollectiveRankWords)[PER_ACCELERATOR]}


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of a file. Price lists beside the file are found from everywhere.

    Raises
    ------
    InvalidInput
        With the file, the key and the allowed ones, or the kind of value that is expected.
    """
    from topoopt.schema.files import parse_toml, read_text  # noqa: PLC0415 - most commands have no settings

    kinds = dict(_machine_kinds())
    for vocabulary in (PricingWords, RunningWords, ObjectiveWords):
        kinds |= get_type_hints(vocabulary)
    settings: dict[str, Any] = parse_toml(read_text(path), str(path))
    for name, value in settings.items():
        if name not in kinds:
            ours = known_as(name, kinds)
            remedy = f"did you mean {ours}?" if ours else hint(name, kinds)
            raise InvalidInput(f'{path}: unknown key "{name}"; {remedy}')
        check_kind(f"{path}: {name}", value, kinds[name])
    if "prices" in settings:
        lists = settings["prices"].split(",")
        beside = [str(path.parent / one) if (path.parent / one).is_file() else one for one in lists]
        settings["prices"] = ",".join(beside)
    ports, rate, accelerators = map(settings.get, ("degree", "bandwidth", "accelerators_per_server"))
    if ports and rate and accelerators and PER_ACCELERATOR not in settings:
        total_bps = ports * amount(parse_bandwidth, rate, f"{path}: bandwidth")
        settings[PER_ACCELERATOR] = format_bandwidth(total_bps / accelerators)
    return settings


@cache
def _keys(vocabulary: Any) -> Mapping[str, str]:
    """Return the key in the settings file of each word of a vocabulary."""
    hints = get_type_hints(vocabulary, include_extras=True) if vocabulary else {}
    marks = {name: getattr(kind, "__metadata__", (Word(),))[0] for name, kind in hints.items()}
    return {name: mark.setting or name for name, mark in marks.items()}


def settings_for(words: Mapping[str, Any], source: Any, vocabulary: Any, path: Path) -> dict[str, Any]:
    """Return the settings that a verb takes and its caller has not given.

    Those of the machine belong together: none is taken where the call names another accelerator or a file that
    describes a machine, or where the verb has none.

    Parameters
    ----------
    words
        Arguments of the call.
    source
        First argument of the call: a model, a file, or an answer such as a plan.
    """
    own = _keys(vocabulary)
    settings = read_settings(path)
    whole = not isinstance(source, str | os.PathLike | None)
    for given in (source, words.get("wiring"), words.get("cluster")):
        if isinstance(given, str | os.PathLike) and os.path.isfile(given):
            whole |= given is not source or import_module("topoopt.jobs").file_kind(given) in _WHOLE
    other = words.get("accelerator", settings.get("accelerator")) != settings.get("accelerator")
    if whole or other or "accelerator" not in own or {PER_ACCELERATOR, "servers"} <= set(own):
        settings = {name: value for name, value in settings.items() if name not in _machine_kinds()}
    return {name: settings[key] for name, key in own.items() if key in settings and name not in words}


def note_settings(path: Path, used: Mapping[str, Any]) -> None:
    """Note which settings an answer has used."""
    said = ", ".join(f"{name} {value}" for name, value in used.items())
    note = f"{path} gives {said}; {SETTINGS_VARIABLE}={IGNORED_SETTINGS} ignores it"
    warnings.warn(note, Note, stacklevel=3)


def checked_arguments(verb: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Let a verb refuse misspelled words and arguments of the wrong kind, before it does anything.

    Words that are not given are those of the settings file, which the answer then names.
    """
    signature = inspect.signature(verb)
    first = next(iter(signature.parameters), "")

    @wraps(verb)
    def call(*arguments: Parameters.args, **words: Parameters.kwargs) -> Answer:
        kinds = kinds_of(verb, signature)
        check_names(words, kinds)
        for name, value in (*zip(signature.parameters, arguments, strict=False), *words.items()):
            check_kind(name, value, kinds[name])
        path = settings_file()
        source = arguments[0] if arguments else words.get(first)
        used = settings_for(words, source, _vocabulary(verb), path) if path else {}
        try:
            answer = verb(*arguments, **words, **used)
        except InvalidInput as error:
            if re.match(r"\w*", str(error))[0] in used:  # type: ignore[index] # matches any text
                raise InvalidInput(f"{path}: {error}") from None
            raise _wrong_file(words, error) from None
        if path is None or not used:
            return answer
        note_settings(path, used)
        made: Any = getattr(answer, "provenance", None)
        if made is None:
            return answer
        inputs = {**made.inputs, path.name: digest(path.read_bytes())}
        return replace(answer, provenance=replace(made, inputs=inputs))  # type: ignore[type-var]

    call.__signature__ = _spelled_out(signature)  # type: ignore[attr-defined]
    return call


def _spelled_out(signature: inspect.Signature) -> inspect.Signature:
    """Return the signature of a verb with each word of its vocabulary, for shells, editors and ``help``."""
    *own, last = signature.parameters.values() or (None,)
    if last is None or last.kind is not last.VAR_KEYWORD or get_origin(last.annotation) is not Unpack:
        return signature
    hints = get_type_hints(get_args(last.annotation)[0], include_extras=True)
    for name, (kind, word) in ((name, kind_and_word(one)) for name, one in hints.items()):
        plain = kind if word.default is not None else kind | None
        own.append(inspect.Parameter(name, last.KEYWORD_ONLY, default=word.default, annotation=plain))
    return signature.replace(parameters=own)


def _wrong_file(words: Mapping[str, Any], error: InvalidInput) -> InvalidInput:
    """Return an error that names the kind of a file, where one is about the content of a file of another kind."""
    for name, value in words.items():
        if name in _TAKEN and isinstance(value, str | os.PathLike) and str(error).startswith(f"{value}: "):
            jobs = import_module("topoopt.jobs")  # a layer above, which knows all kinds
            return jobs.wrong_kind(os.fspath(value), *_TAKEN[name]) or error
    return error


def _vocabulary(verb: Callable[..., Any]) -> Any:
    """Return the vocabulary of a verb; None where it has none."""
    hints = get_type_hints(verb)
    return next((get_args(kind)[0] for kind in hints.values() if get_origin(kind) is Unpack), None)
