"""Cells of one row of a table of runs in free notation: numbers, switches, keywords.

Cells of one row of a table of runs: sharding, recomputation and precision.

People write one thing in many ways, doubt it (``selective?``), add to it (``fsdp(zero2-like)``), or leave a choice that
is none (``full/block``).

Cells that combine several columns: degrees in one cell, hosts, batches in parts, lengths of documents.

``FSDP 8, TP 8, PP8`` is a cell of torchtitan's tables, ``GA`` a column of NVIDIA's; lengths are those of samples that
are packed for supervised fine-tuning.
"""

import re
from collections.abc import Callable

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.measurements.run_table import Row, degree, number, text, whole
from topoopt.schema.files import packaged_rows
from topoopt.transformers import recomputation_bits, recomputation_word

OUTCOMES = ("status", "iter_time_s", "iter_time_ms", "tflops_per_gpu", "mfu_pct", "mem_gb", "mem_gib")
"""Columns that may record that a run did not fit into memory."""
BYTES = {"mb": 1e6, "gb": 1e9, "mib": 2.0**20, "gib": 2.0**30}
WORDS: dict[str, dict[str, str]] = {}
"""Meanings of the words in a column, in the order in which they are searched."""
for _row in packaged_rows("measurements.training", "run_words"):
    WORDS.setdefault(_row["column"], {})[_row["word"]] = _row["meaning"]


def out_of_memory(row: Row) -> bool:
    """Return whether a run did not fit into memory, by its status."""
    cells = (text(row, column).lower() for column in OUTCOMES)
    return any(re.search(r"\boom\b|out[- ]of[- ]memory", cell) for cell in cells)


def size_bytes(row: Row, column: str, unit_bytes: float) -> float:
    """Return an amount of memory, in the unit of its cell (``69GB``) or of its column; 0 where it is empty."""
    cell = text(row, column)
    match = re.fullmatch(r"(.*?\d)\s*([mg]i?b)", cell, re.IGNORECASE)
    if match is None:
        return number(row, column, 0.0) * unit_bytes
    return number({column: match[1]}, column) * BYTES[match[2].lower()]


def switched_on(row: Row, column: str, default: bool = False) -> bool:
    """Return a yes or a no; an empty cell is the default."""
    cell = text(row, column).lower()
    if not cell:
        return default
    if cell not in WORDS["switch"]:
        raise InvalidInput(f'{column}: expected 0 or 1, got "{cell}"')
    return WORDS["switch"][cell] == "yes"


def meaning(column: str, cell: str) -> str:
    """Return the meaning of the first known word of a column in a cell; empty if there is none."""
    return next((name for word, name in WORDS[column].items() if word in cell), "")


REMARK = re.compile(r"(.*?)\s*[(\[](.*?)[)\]]?\s*\??")
"""A word followed by text in parentheses."""
STAGE = re.compile(r"(?:zero|stage|\bz)[-_ ]*([0-3])(?!\d)")
SHARED_OUT = {r"dist(ributed)?[-_ ]?opt": "1", r"shard[-_ ]grad": "2", r"full[-_ ]shard": "3"}
"""Patterns inside longer words, such as ``Megatron with distributed optimizer``."""
OF_ACTIVATIONS = r"\bact(ivation)?s?[-_ ]*(re-?comput\w*|check-?point\w*|ckpt)"
"""Subject of the column, where a cell repeats it; alone it means all of it."""


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
    """Return the recomputation: none, selective, full, or parts joined by ``+``; an empty cell is none.

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
    """Return the meaning of a word, or of all alternatives separated by slashes."""
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
    """Return the ZeRO stages in a word, by number or by the sharded tensors."""
    by_words = {stage for pattern, stage in SHARED_OUT.items() if re.search(pattern, word)}
    return set(STAGE.findall(word)) or by_words


def _recomputed(word: str) -> str | None:
    """Return the recomputation given by a word or several parts; None where one of them is unknown."""
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


DEGREE = re.compile(r"\b(tp|pp|dp|cp|ep|etp|vpp|vp|mbs|sp|fsdp|hsdp)[\s:=_-]*(\d+)\b")
DEGREE_IN_FRONT = re.compile(r"\b(\d+)[\s-]*way\s+(tensor|pipeline|data|context|expert)\b")
COLUMNS = {"vp": "vpp", "tensor": "tp", "pipeline": "pp", "data": "dp", "context": "cp", "expert": "ep"}
SHARE_OF_ALL = re.compile(r"n?gpus?\s*([*x×/])\s*(\d+)", re.IGNORECASE)
"""Number of replicas or sequences per accelerator, as in NVIDIA's recipes: ``GPUs*2``."""
LENGTHS = re.compile(r"(\d+(?:\.\d+)?)(?:\s*[:x×*]\s*(\d+(?:\.\d+)?))?")
"""A length, and of how many samples."""
SERVER = 8
"""Accelerators of a host where a row has none."""


def with_cells(row: Row) -> Row:
    """Return a row completed with cells that follow from others; given cells stay.

    Raises
    ------
    InvalidInput
        If such a cell cannot be read.
    """
    found = {**_of_parallelism(row), **_of_documents(row)}
    row = {**row, **{column: cell for column, cell in found.items() if not text(row, column)}}
    if text(row, "fsdp") and not text(row, "zero"):
        row = {**row, "zero": _stage_of_fsdp(row)}
    if text(row, "nodes") and not text(row, "gpus"):
        row = {**row, "gpus": str(whole(row, "nodes") * whole(row, "gpus_per_node", SERVER))}
    cells = {}
    for column in ("dp", "gbs"):
        match = SHARE_OF_ALL.fullmatch(text(row, column))
        if match:
            gpus, share = whole(row, "gpus"), int(match[2])
            cells[column] = f"{gpus / max(share, 1) if match[1] == '/' else gpus * share:g}"
    row = {**row, **cells}
    if not text(row, "gbs") and not text(row, "gbs_tokens"):
        # the sequences of a batch from those of a replica, or from micro-batches; nothing where none is said
        said = [column for column in ("local_batch", "grad_accum") if text(row, column)]
        if not said or not text(row, "gpus"):
            batch = ""
        else:
            inside = degree(row, "tp") * degree(row, "pp") * degree(row, "cp")
            replicas = whole(row, "dp", max(whole(row, "gpus") // inside, 1))
            if said[0] == "local_batch":
                batch = str(whole(row, "local_batch") * replicas)
            else:
                batch = str(whole(row, "grad_accum") * whole(row, "mbs", 1) * replicas)
        row = {**row, "gbs": batch}
    if (
        text(row, "local_batch")
        and not (text(row, "mbs") or text(row, "grad_accum"))
        and degree(row, "pp") == 1
    ):
        row = {**row, "mbs": text(row, "local_batch")}
    return row


def _of_parallelism(row: Row) -> dict[str, str]:
    """Return the cells of a parallelism, layout or technique in one cell."""
    word = " ".join(text(row, column) for column in ("parallelism", "techniques")).lower().strip()
    if not word:
        return {}
    degrees = [(name, size) for name, size in DEGREE.findall(word)]
    degrees += [(name, size) for size, name in DEGREE_IN_FRONT.findall(word)]
    cells = {COLUMNS.get(name, name): size for name, size in degrees}
    sharded = [name for name in ("hsdp", "fsdp", "zero") if name in word]
    cells.pop("sp", "")
    cells.pop("hsdp", "")
    shards = cells.pop("fsdp", "")
    if sharded:
        cells["zero"] = word if sharded[0] == "zero" else sharded[0]
        if sharded[0] == "zero":
            cells["zero"] = next(iter(re.findall(r"zero[-_ ]*[0-3]", word)), "zero-1")
    if shards and sharded[:1] == ["fsdp"] and "dp" not in cells:
        cells["dp"] = shards
    precision = meaning("precision", word)
    return cells | ({"precision": precision} if precision else {})


def _stage_of_fsdp(row: Row) -> str:
    """Return the ZeRO stage of a column about FSDP: yes or no, or over how many ranks.

    NVIDIA's recipes share out the optimizer's state where they do not take FSDP.
    """
    cell = text(row, "fsdp")
    sharded = number(row, "fsdp") > 0 if re.fullmatch(r"[\d.]+", cell) else None
    if sharded is None:
        try:
            sharded = switched_on(row, "fsdp", False)
        except InvalidInput:
            return str(zero_stage({"zero": cell}))
    words = " ".join(text(row, place) for place in ("framework", "source", "dataset", "note")).lower()
    return "fsdp" if sharded else "1" if meaning("framework", words) == "nemo" else "0"


def _of_documents(row: Row) -> dict[str, str]:
    """Return the mean length of documents and their spread, from lengths or from a standard deviation."""
    cell = text(row, "document_lengths")
    if cell:
        lengths, counts = np.array(_lengths(cell)).T
        mean = np.average(lengths, weights=counts)
        deviation = np.sqrt(np.average((lengths - mean) ** 2, weights=counts))
        return {"document": str(round(mean)), "document_spread": f"{deviation / mean:.4g}"}
    if text(row, "document_std") and number(row, "document", 0.0) > 0:
        return {"document_spread": f"{number(row, 'document_std') / number(row, 'document'):.4g}"}
    return {}


def _lengths(cell: str) -> list[tuple[float, float]]:
    """Return the lengths of a cell, and of how many samples each is: ``512 1024 2048``, or ``512:30; 2048:5``."""
    pairs = []
    for part in filter(None, re.split(r"[;,|\s\[\]]+", re.sub(r"\s*([:x×*])\s*", r"\1", cell))):
        match = LENGTHS.fullmatch(part)
        if match is None or float(match[1]) <= 0 or float(match[2] or 1) <= 0:
            raise InvalidInput(
                "document_lengths: expected lengths such as 512 1024, or with the numbers of samples 512:30 1024:10, "
                f'got "{part}"'
            )
        pairs.append((float(match[1]), float(match[2] or 1)))
    if not pairs:
        raise InvalidInput(f'document_lengths: expected lengths such as 512 1024, got "{cell}"')
    return pairs
