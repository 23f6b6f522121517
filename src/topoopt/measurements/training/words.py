"""Words of one row of a table of runs: what is shared out, what is computed again, in which precision.

People write one thing in many ways, doubt it (``selective?``), add to it (``fsdp(zero2-like)``), or leave a choice that
is none (``full/block``).
"""

import re
from collections.abc import Callable

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.columns import WORDS, Row, meaning, text
from topoopt.transformers import recomputation_bits, recomputation_word

REMARK = re.compile(r"(.*?)\s*[(\[](.*?)[)\]]?\s*\??")
"""A word, and what stands behind it in parentheses."""

STAGE = re.compile(r"(?:zero|stage|\bz)[-_ ]*([0-3])(?!\d)")
SHARED_OUT = {r"dist(ributed)?[-_ ]?opt": "1", r"shard[-_ ]grad": "2", r"full[-_ ]shard": "3"}
"""Patterns inside longer words, such as ``Megatron with distributed optimizer``."""

OF_ACTIVATIONS = r"\bact(ivation)?s?[-_ ]*(re-?comput\w*|check-?point\w*|ckpt)"
"""What the column is about, where a cell says it again; alone it means all of it."""


def zero_stage(row: Row) -> int:
    """Return the ZeRO stage: 0..3, ``zero-1``, ``fsdp`` (3), ``ddp/dist-opt`` (1); an empty cell is 0.

    Raises
    ------
    InvalidInput
        For an unknown word, or for two that mean different stages.
    """
    word, remark = _word_and_remark(text(row, "zero"))
    stated = _shared_out(remark)  # in parentheses stands what the word comes to
    if len(stated) == 1:
        return int(stated.pop())
    return int(_meant("zero", word, _stage, "one of " + ", ".join(filter(None, WORDS["zero"]))))


def is_hybrid_shard(row: Row) -> bool:
    """Return whether parameters are shared out within groups that are replicas of each other (HSDP)."""
    return bool(re.search("hsdp|hybrid", text(row, "zero").lower()))


def recomputation(row: Row) -> str:
    """Return what is computed again: none, selective, full, or parts joined by ``+``; an empty cell is none.

    Raises
    ------
    InvalidInput
        For an unknown word, or for two that mean different things.
    """
    word, remark = _word_and_remark(text(row, "recompute"))
    how = _meant("recompute", word, _recomputed, "none, selective, full or parts such as core+norms")
    parts = _recomputed(remark) if remark else None
    return parts if how == "selective" and parts not in (None, "none", "full") else how


def precision(row: Row) -> str:
    """Return the precision of the linear layers, or nothing for an empty cell; MXFP8 and FP8-CS are ``fp8``.

    Raises
    ------
    InvalidInput
        For an unknown word.
    """
    cell = text(row, "precision").lower()
    name = meaning("precision", cell)
    if cell and not name:
        raise InvalidInput(f'precision: expected one of {", ".join(WORDS["precision"])}, got "{cell}"')
    return name


def _word_and_remark(cell: str) -> tuple[str, str]:
    match = REMARK.fullmatch(cell.lower())
    word, remark = match.groups() if match else (cell.lower(), "")
    return word.strip(" ?").removesuffix(".0"), remark.strip(" ?")


def _meant(column: str, word: str, read: Callable[[str], str | None], allowed: str) -> str:
    """Return what a word means, or what all of its alternatives mean, which a slash parts."""
    whole = read(word)
    meanings = {read(one.strip()) for one in word.split("/")} if whole is None else {whole}
    if len(meanings) > 1 and None not in meanings:
        raise InvalidInput(f'{column}: "{word}" says {" and ".join(sorted(map(str, meanings)))}; leave one')
    (first, *others) = meanings
    if first is None or others:
        raise InvalidInput(f'{column}: expected {allowed}, got "{word}"')
    return first


def _stage(word: str) -> str | None:
    plain = re.sub(r"[ _]+", "-", re.sub(r"^(deepspeed[ _-]*)?(zero[ _-]*)?(stage[ _-]*)?", "", word))
    stated = set() if "/" in word else _shared_out(word)
    return WORDS["zero"].get(plain) or (stated.pop() if len(stated) == 1 else None)


def _shared_out(word: str) -> set[str]:
    """Return the stages that a word names, by number or by what is shared out, whatever else it says."""
    by_words = {stage for pattern, stage in SHARED_OUT.items() if re.search(pattern, word)}
    return set(STAGE.findall(word)) or by_words


def _recomputed(word: str) -> str | None:
    """Return the recomputation that a word or several parts mean; None where one of them is unknown."""
    known = WORDS["recompute"]
    word = re.sub(OF_ACTIVATIONS, "", word).strip() or "full" if word else word
    plain = re.sub(r"[-\s]+", "_", word)
    parts = [plain] if plain in known else re.split(r"[+,;&\s]+", word.replace("-", "_"))
    if any(part not in known for part in parts):
        return None
    bits = 0
    for part in parts:
        bits |= recomputation_bits(known[part])
    return recomputation_word(bits)
