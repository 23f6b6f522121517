"""One case: words and a folder of files made from a seed and a number, run in this process, judged."""

import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import stat
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.mutate import mutated
from fuzz.subjects import READERS, WORDS, verbs
from fuzz.values import TEXTS, any_number
from topoopt.frontends.cli import main

LIMIT_S = 30.0
MANY = ("--processes", "--chains", "--ray")
"""Flags whose small values start processes, which is another test."""


HOLD_WORDS = ("serving.yaml", "deployment.yaml", "shared.yaml")
"""Files of words that are flags, too: by what they say a rate, a number of accelerators or the demand of
a link may be too much."""


class TookTooLong(BaseException):
    """Nothing in the program may catch it."""


@dataclass(frozen=True, slots=True)
class Case:
    """A command and the file in which the mistake is, if it is in one."""

    seed: int
    number: int
    words: tuple[str, ...]
    spoiled: str = ""


def make_case(seed: int, number: int, folder: Path) -> Case:
    """Return a case, its spoiled file written over the whole one in the folder."""
    rng = random.Random(f"{seed}:{number}")
    if rng.random() < 0.6:
        reader = rng.choice(READERS)
        path = folder / reader.file
        path.write_bytes(mutated(reader.file, path.read_bytes(), rng))
        return Case(seed, number, reader.words, reader.file)
    verb, options = rng.choice(_verbs())
    words = [*verb.split(), *WORDS.get(verb, "").split()]
    for option in rng.sample(options, min(len(options), rng.choice((1, 1, 2)))):
        words += _option(option, rng)
    return Case(seed, number, tuple(words))


def finding_of(case: Case, folder: Path, limit_s: float) -> str:
    """Run a case and return what is wrong with its end; empty if nothing is."""
    before = _listing(folder)
    out, err = io.StringIO(), io.StringIO()
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, limit_s)  # of this process, whatever else the machine does
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            code = main(case.words)
    except TookTooLong:
        if "packet" in case.words:  # more bytes are more packets: a simulation may take as long as it likes
            return ""
        return f"more than {limit_s:g} CPU seconds: {_last_line_of_ours()}"
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        return (
            f"{type(error).__name__}: {str(error)[:200]!r}\n{''.join(traceback.format_exception(error)[-8:])}"
        )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return _judged(code, out.getvalue(), err.getvalue(), before, folder, case)


def fresh_folder(whole: Path, folder: Path) -> None:
    """Make a folder of whole files, with a link to nothing, a link in a circle and a pipe among them."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    (folder / "dangling").symlink_to("nothing")
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")


def _judged(code: int, out: str, err: str, before: set[str], folder: Path, case: Case) -> str:
    if code == 2:
        return _judged_refusal(err, _listing(folder) - before, case)
    if code != 0:
        return f"exit code {code}: {err[:300]!r}"
    if err:
        return f"an answer with a complaint: {err[:300]!r}"
    try:
        if "--json" in case.words and "--out" not in case.words:
            json.loads(out, parse_constant=_no_number)
    except ValueError as error:
        return f"no JSON: {error}: {out[:100]!r}"
    return ""


def _judged_refusal(err: str, left: set[str], case: Case) -> str:
    """Return what is wrong with a message of a command that wrote nothing."""
    lines = r"(error: [^\n]{1,1200}\n)"
    if case.words[:1] == ("verify",):  # one for each check that fails
        lines += "+"
    wrong = {
        f"not one line of error: {err[:500]!r}": not re.fullmatch(lines, err),
        "memory was not looked at before": "not enough memory for this" in err,
        f"a refused command left files: {sorted(left)}": bool(left),
        f"a mistake in {case.spoiled} names a flag: {err[:200]}": case.spoiled
        and case.spoiled not in HOLD_WORDS
        and err.startswith("error: --"),
    }
    return next((words for words, met in wrong.items() if met), "")


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} in an answer")


def _option(option: Any, rng: random.Random) -> list[str]:
    flag = option.opts[0]
    described = getattr(option, "type_descriptor", None)  # as newer versions of typer have it
    kind = str(described.annotation if described else option.type)
    if "bool" in kind.lower():
        return [flag]
    if "int" in kind.lower() or "float" in kind.lower():
        value = any_number(rng, "int" in kind.lower())
        return [flag, "99999999" if flag in MANY else value]
    if rng.random() < 0.3 and option.metavar:
        return [flag, rng.choice(str(option.metavar).split("|"))]
    return [flag, "local" if flag in MANY else rng.choice(TEXTS)]


def _listing(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if not stat.S_ISFIFO(path.lstat().st_mode)
    }


def _too_long(number: int, frame: Any) -> None:
    global _where  # noqa: PLW0603 # a signal has no other way to say where it struck
    _where = [line for line in traceback.format_stack(frame) if "topoopt" in line][-3:]
    raise TookTooLong


_where: list[str] = []
_known: list[tuple[str, list[Any]]] = []


def _last_line_of_ours() -> str:
    return "".join(_where)


def _verbs() -> list[tuple[str, list[Any]]]:
    if not _known:
        _known.extend(verbs())
    return _known
