"""Headings of tables of runs: which column each means, however its units, signs and blanks are written."""

import re
from collections.abc import Sequence

from topoopt.schema.files import packaged_rows

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
