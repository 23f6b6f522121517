"""A table of runs as a file: the columns that are known, under the names that people give them."""

import re
from collections.abc import Sequence
from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import csv_lines, packaged_rows, read_text

_SIGNS = (
    (r"#\s*-?\s*(of\b)?|\b(number|num|no)\.?\s*of\b", " num "),
    (r"%", " pct "),
    (r"/", " per "),
    (r"[()\[\]*_`,.-]", " "),
)
"""Patterns in a heading, and what they say: ``#-GPUs``, ``Number of GPUs``, ``MFU (%)``, ``Tokens / sec / GPU``."""
_SAME_WORDS = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("tok", "toks", "token"), "tokens"),
    **dict.fromkeys(("chip", "device", "accelerator"), "gpu"),
    **dict.fromkeys(("chips", "devices", "accelerators"), "gpus"),
    **dict.fromkeys(("sample", "samples", "sequence", "seqs"), "sequences"),
    **dict.fromkeys(("tflop", "tflops", "teraflop", "teraflops"), "tflops"),
}
"""Words of one meaning, in any heading."""
VAGUE = ("system", "hardware", "size", "model size", "memory", "mem", "layout", "strategy", "software")
"""Headings that mean a column only where no other heading does: a system beside a GPU may be a cluster's name."""


def _plain(written: str) -> str:
    """Return a heading without capitals, signs and what else differs between writers."""
    plain = written.lower()
    for pattern, word in _SIGNS:
        plain = re.sub(pattern, word, plain)
    return " ".join(_SAME_WORDS.get(word, word) for word in plain.split())


_NAMES = {
    _plain(name): row["column"]
    for row in packaged_rows("measurements.training", "run_columns")
    for name in (row["column"], *row["other_names"].split())
}
"""The column of each of its names."""
NEEDED_COLUMNS = ("gpus", "gpu", "gbs")
INSTEAD = {"gpus": ("nodes",), "gbs": ("gbs_tokens", "grad_accum", "local_batch")}
"""Columns that a needed one follows from."""
SEPARATORS = ",;\t|"
RULE = set("|:- ")
"""Of these is the line between headings and cells of a table in Markdown."""


def read_run_table(path: str | Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the headings as written, and the rows, in which every known column also has its usual name.

    Lines without any cell are left out. Cells are separated by commas, or where the first line has more of them by
    semicolons, tabs or bars, as in Markdown.

    Raises
    ------
    InvalidInput
        If the file is no such table, a column is missing or there twice, or a line is too short or too long.
    """
    text = read_text(path)
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    if separator == "|":
        text = _without_borders(text)
    rows = csv_lines(text, str(path), separator, strict=separator != "|")
    lines = [(number, line) for number, line in rows if any(cell.strip() for cell in line)]
    columns = tuple(lines[0][1]) if lines else ()
    names = _names(columns, path)
    for number, line in lines[1:]:
        if len(line) != len(columns):
            raise InvalidInput(
                f"{path}: line {number}: expected {len(columns)} cells as in the first line, got {len(line)}"
            )
    return columns, [
        {**dict(zip(columns, line, strict=True)), **dict(zip(names, line, strict=True))}
        for _, line in lines[1:]
    ]


def _without_borders(text: str) -> str:
    """Return the lines of a table in Markdown without their outer bars and without the rule below the headings."""
    lines = [line.strip() for line in text.splitlines()]
    inner = ("" if set(line) <= RULE else line.removeprefix("|").removesuffix("|") for line in lines)
    return "\n".join("|".join(cell.strip() for cell in line.split("|")) for line in inner)


def _names(columns: Sequence[str], path: str | Path) -> list[str]:
    """Return the usual name of each column, or as it is written where nobody knows it."""
    names = [name or written for name, written in zip(columns_of(columns), columns, strict=True)]
    for place, name in enumerate(names):
        if name in names[:place]:
            first = columns[names.index(name)]
            raise InvalidInput(
                f'{path}: the columns "{first}" and "{columns[place]}" say the same; leave one of them out'
            )
    for needed in NEEDED_COLUMNS:
        if not {needed, *INSTEAD.get(needed, ())} & set(names):
            raise _lacking(path, needed, columns, names)
    return names


def _lacking(path: str | Path, needed: str, columns: Sequence[str], names: Sequence[str]) -> InvalidInput:
    """Return the error for a column that is not there, with a heading that might be meant."""
    kind = {"gbs": "batch", "gpus": "gpus", "gpu": "gpu"}[needed]
    likely = [
        column
        for column, name in zip(columns, names, strict=True)
        if kind in column.lower() and not column_of(name)
    ]
    hint = f'; if that is "{likely[0].strip()}", call it {needed}' if likely else ""
    ways = "; ".join(f"or {' or '.join(others)} for {name}" for name, others in INSTEAD.items())
    return InvalidInput(
        f"{path}: not a table of runs: there is no column {needed}{hint}; needed: {', '.join(NEEDED_COLUMNS)}; {ways}"
    )


def columns_of(headings: Sequence[str]) -> list[str]:
    """Return the column that each heading means; nothing for one that is not known, or vague beside a clearer one.

    Examples
    --------
    >>> columns_of(["System", "GPU"]), columns_of(["System", "TP"])
    (['', 'gpu'], ['gpu', 'tp'])
    """
    names = [column_of(written) for written in headings]
    vague = [_plain(written) in VAGUE for written in headings]
    return [
        "" if vague[place] and names.count(name) > 1 and not all(_of(names, vague, name)) else name
        for place, name in enumerate(names)
    ]


def _of(names: Sequence[str], vague: Sequence[bool], name: str) -> list[bool]:
    return [one for one, other in zip(vague, names, strict=True) if other == name]


def column_of(written: str) -> str:
    """Return the column that a heading means; nothing for one that is not known.

    Examples
    --------
    >>> column_of(" Micro-Batch Size"), column_of("TP"), column_of("weather")
    ('mbs', 'tp', '')
    >>> column_of("#-GPUs"), column_of("Tokens / sec / GPU"), column_of("Time per Global Step (s)")
    ('gpus', 'tokens_per_s_per_gpu', 'iter_time_s')
    """
    return _NAMES.get(_plain(written), "")
