"""Cells that say what several columns mean: degrees in one cell, hosts, batches in parts, lengths of documents.

``FSDP 8, TP 8, PP8`` is a cell of torchtitan's tables, ``GA`` a column of NVIDIA's; lengths are those of samples that
are packed for supervised fine-tuning.
"""

import re

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.columns import Row, degree, meaning, number, switched_on, text, whole
from topoopt.measurements.training.words import zero_stage

DEGREE = re.compile(r"\b(tp|pp|dp|cp|ep|etp|vpp|vp|mbs|sp|fsdp|hsdp)[\s:=_-]*(\d+)\b")
DEGREE_IN_FRONT = re.compile(r"\b(\d+)[\s-]*way\s+(tensor|pipeline|data|context|expert)\b")
COLUMNS = {"vp": "vpp", "tensor": "tp", "pipeline": "pp", "data": "dp", "context": "cp", "expert": "ep"}

SHARE_OF_ALL = re.compile(r"n?gpus?\s*([*x×/])\s*(\d+)", re.IGNORECASE)
"""So many replicas or sequences for each accelerator, as NVIDIA's recipes write them: ``GPUs*2``."""

LENGTHS = re.compile(r"(\d+(?:\.\d+)?)(?:\s*[:x×*]\s*(\d+(?:\.\d+)?))?")
"""A length, and of how many samples."""

SERVER = 8
"""Accelerators of a host where a row does not say."""


def with_cells(row: Row) -> Row:
    """Return a row with the cells that follow from others; what a row says itself stays.

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
    row = {**row, **_of_accelerators(row)}
    if not text(row, "gbs") and not text(row, "gbs_tokens"):
        row = {**row, "gbs": _batch(row)}
    if (
        text(row, "local_batch")
        and not (text(row, "mbs") or text(row, "grad_accum"))
        and degree(row, "pp") == 1
    ):
        row = {**row, "mbs": text(row, "local_batch")}
    return row


def _of_accelerators(row: Row) -> dict[str, str]:
    """Return replicas and sequences that are said by the number of accelerators."""
    cells = {}
    for column in ("dp", "gbs"):
        match = SHARE_OF_ALL.fullmatch(text(row, column))
        if match:
            gpus, share = whole(row, "gpus"), int(match[2])
            cells[column] = f"{gpus / max(share, 1) if match[1] == '/' else gpus * share:g}"
    return cells


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


def _batch(row: Row) -> str:
    """Return the sequences of a batch from those of a replica, or from micro-batches; nothing where none is said."""
    said = [column for column in ("local_batch", "grad_accum") if text(row, column)]
    if not said or not text(row, "gpus"):
        return ""
    inside = degree(row, "tp") * degree(row, "pp") * degree(row, "cp")
    replicas = whole(row, "dp", max(whole(row, "gpus") // inside, 1))
    if said[0] == "local_batch":
        return str(whole(row, "local_batch") * replicas)
    return str(whole(row, "grad_accum") * whole(row, "mbs", 1) * replicas)


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
