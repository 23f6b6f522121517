"""Formats of request traces: their columns, unit of time and tokens a block; a file is known by all of its columns."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from topoopt.base.errors import InvalidInput, check_known, hint, shown
from topoopt.base.limits import whole_or_digits
from topoopt.inference.requests import BLOCK_TOKENS


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """Columns of a trace of requests, or keys of its lines of JSON.

    Attributes
    ----------
    title : str
        Name for people.
    time, prompt, answer : str
        Columns that every request has.
    unit_s : float
        Unit of the time; 0 for a date and time of day.
    blocks : str
        Column of the names of the prompt's blocks; empty without one.
    block_tokens : int
        Tokens of a block.
    marks : tuple of str
        Other columns, without which a file is not of this format.
    others : tuple of str
        Other columns that a file may have.
    total : str
        Column that holds the sum of prompt and answer; empty without one.
    names_all : bool
        Whether every block of a prompt has a name; else the first ones may.
    is_said : bool
        Whether the user has said which columns are read, so that a file may have others.
    """

    title: str
    time: str
    prompt: str
    answer: str
    unit_s: float = 1.0
    blocks: str = ""
    block_tokens: int = BLOCK_TOKENS
    marks: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    total: str = ""
    names_all: bool = True
    is_said: bool = False

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that every file has."""
        return (self.time, self.prompt, self.answer, *self.marks)

    @property
    def known(self) -> tuple[str, ...]:
        """All columns that a file may have."""
        return tuple(name for name in (*self.needed, self.blocks, self.total, *self.others) if name)

    def option(self, time: str = "", block_tokens: int = 0) -> str:
        """Return the option that reads these columns, as Python and a shell take it; of times in another unit."""
        time = time or next(name for name, unit_s in _TIMES.items() if unit_s == self.unit_s)
        blocks = (
            f", blocks={self.blocks}, block_tokens={block_tokens or self.block_tokens}" if self.blocks else ""
        )
        return (
            f"columns='{time}={self.time}, input_tokens={self.prompt}, output_tokens={self.answer}{blocks}'"
        )


_JSON = ("timestamp", "input_length", "output_length")
FORMATS = {
    "mooncake": TraceFormat("Mooncake's", *_JSON, unit_s=1e-3, blocks="hash_ids"),
    "bailian": TraceFormat(
        "Bailian's",
        *_JSON,
        blocks="hash_ids",
        block_tokens=16,
        marks=("chat_id",),
        others=("parent_chat_id", "type", "turn"),
    ),
    "azure": TraceFormat("Azure's", "TIMESTAMP", "ContextTokens", "GeneratedTokens", unit_s=0.0),
    "burstgpt": TraceFormat(
        "BurstGPT's",
        "Timestamp",
        "Request tokens",
        "Response tokens",
        others=("Model", "Log Type", "Session ID", "SessionID", "Elapsed time"),
        total="Total tokens",
    ),
    "topoopt": TraceFormat(
        "topoopt's", "arrival_s", "input_tokens", "output_tokens", blocks="blocks", names_all=False
    ),
}
"""Formats by name.

References
----------
.. [1] R. Qin et al., "Mooncake", FAST 2025, and the traces released with it.
.. [2] J. Wang et al., "KVCache cache in the wild", USENIX ATC 2025, and the traces of Alibaba's Bailian.
.. [3] P. Patel et al., "Splitwise", ISCA 2024, and the Azure LLM inference traces released with it.
.. [4] Y. Wang et al., "BurstGPT", KDD 2025; an answer of 0 tokens is a failure.
"""
_TIMES = {"arrival_s": 1.0, "arrival_ms": 1e-3, "arrival_date": 0.0}
_NAMES = (*_TIMES, "input_tokens", "output_tokens", "blocks", "block_tokens")


def format_of(columns: Sequence[str], place: str) -> TraceFormat:
    """Return the format that a file has by its columns.

    Raises
    ------
    InvalidInput
        If it has the needed columns of none, another one beside them, or one twice.
    """
    for name in columns:
        if columns.count(name) > 1:
            raise InvalidInput(f'{place}: column "{name}" stands twice')
    having = [one for one in FORMATS.values() if set(one.needed) <= set(columns)]
    if not having:
        form = max(FORMATS.values(), key=lambda one: len(set(one.known) & set(columns)))
        missing = [name for name in form.needed if name not in columns]
        near = difflib.get_close_matches(missing[0], set(columns) - set(form.known), 1)
        if near and len(missing) == 1:
            time, prompt, answer = (near[0] if name in missing else name for name in form.needed[:3])
            so_read = replace(_there(form, columns), time=time, prompt=prompt, answer=answer).option()
            raise InvalidInput(
                f'{place}: columns as {form.title}, but "{missing[0]}" is missing; did you mean it by "{near[0]}"? '
                f"Rename that, or give {so_read}"
            )
        ways = ", or ".join(f"{', '.join(one.needed)} ({one.title})" for one in FORMATS.values())
        raise InvalidInput(
            f"{place}: expected {ways}, or columns=NAME=COLUMN,…; got {shown(', '.join(columns))}"
        )
    found = max(having, key=lambda one: len(set(one.known) & set(columns)))
    for name in columns:
        if name not in found.known:
            raise InvalidInput(
                f'{place}: unknown column "{name}" in {found.title} format; {hint(name, found.known)}; where others '
                f"are to be left out, say which are read: {_there(found, columns).option()}"
            )
    return found


def _there(form: TraceFormat, columns: Sequence[str]) -> TraceFormat:
    return form if form.blocks in columns else replace(form, blocks="")


def said_format(text: str) -> TraceFormat:
    """Return the format of a name, or that of ``arrival_s=time,input_tokens=prompt,output_tokens=answer``.

    Time is ``arrival_s``, ``arrival_ms`` or ``arrival_date``; ``blocks`` may be given, with ``block_tokens=16``.

    Raises
    ------
    InvalidInput
        For an unknown or missing name, and one given twice.
    """
    if "=" not in text:
        check_known("columns", text, FORMATS)
        return FORMATS[text]
    said: dict[str, str] = {}
    for part in text.split(","):
        name, _, column = (word.strip() for word in part.partition("="))
        check_known("columns", name, _NAMES)
        if name in said or not column:
            raise InvalidInput(f"columns: {name}: expected one column, got {shown(part)}")
        said[name] = column
    times = [name for name in said if name in _TIMES]
    if len(times) != 1:
        raise InvalidInput(
            f"columns: expected one of {', '.join(_TIMES)}, got {' and '.join(times) or 'none'}"
        )
    for name in ("input_tokens", "output_tokens"):
        if name not in said:
            raise InvalidInput(f"columns: {name}: missing; say which column has it")
    return TraceFormat(
        "the columns'",
        said[times[0]],
        said["input_tokens"],
        said["output_tokens"],
        _TIMES[times[0]],
        said.get("blocks", ""),
        whole_or_digits("columns: block_tokens", said.get("block_tokens", BLOCK_TOKENS), 1),
        names_all=False,
        is_said=True,
    )
