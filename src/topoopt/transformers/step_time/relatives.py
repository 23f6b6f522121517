"""Accelerators that take over what is known of a relative: its calibration, or rates that nobody has published."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.schema.files import packaged_rows


@dataclass(frozen=True, slots=True)
class Relative:
    """Whose calibration an accelerator takes over, and how.

    Attributes
    ----------
    source : str
        The accelerator that it is taken from.
    gemm_factor : float
        On the share of the peak that matrix products reach.
    attention : str
    reason : str
    """

    source: str
    gemm_factor: float
    attention: str
    reason: str


def relative_of(accelerator: str) -> Relative | None:
    """Return the relative of an accelerator of the catalogue; None where it has runs of its own, or nobody is alike."""
    return _relatives().get(find_accelerator(accelerator).name)


def are_alike(one: str, other: str) -> bool:
    """Return whether two accelerators are of one architecture and rest on the same runs: one's, or a third's."""
    parts = find_accelerator(one), find_accelerator(other)
    sources = [relative.source if (relative := relative_of(part.name)) else part.name for part in parts]
    return parts[0].architecture == parts[1].architecture and sources[0] == sources[1]


def peak_rates(accelerator: str) -> Mapping[str, float]:
    """Return the dense peak rates in FLOP/s by precision; a relative's where none are published.

    Raises
    ------
    InvalidInput
        If neither is known.
    """
    part = find_accelerator(accelerator)
    relative = _relatives().get(part.name)
    peaks = part.peaks or (find_accelerator(relative.source).peaks if relative else {})
    if not {"bf16", "fp16"} & set(peaks):
        raise InvalidInput(
            f"accelerator: the 16-bit rate of {part.name} is not known, so its step times are not either"
        )
    return peaks


def written_accelerator(text: str) -> str:
    """Return the catalogue's name of an accelerator as tables write it, such as ``H100 80GB HBM3`` or ``8xA100``.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names.
    """
    plain = (
        re.sub(r"\(.*?\)|…|\.\.\.|^\s*\d+\s*[x×*]\s*|^\s*\d+\s+(?=[A-Za-z])", "", text)
        .replace("_", " ")
        .strip()
    )
    words = re.sub(r"(?i)\b(nvidia|amd|google|tesla|dgx|hgx|instinct|aws|gpus?)\b", " ", plain).split()
    known = re.split(r"[-_ ]", " ".join(words))
    joined = "-".join(words)
    for name in (
        plain,
        joined,
        "".join(words),
        *_in_parts(joined),
        known[0],
        "".join(known[:2]),
        joined.rstrip("sS"),
    ):
        with suppress(InvalidInput):
            return find_accelerator(name).name
    return find_accelerator(plain).name


def _in_parts(name: str) -> Iterator[str]:
    """Yield a name like ``A100-SXM-80GB`` by its family, with its form and memory, with either."""
    family = re.split(r"[-_ ]", name)[0]
    size = re.search(r"(\d+)[-\s]*gb?\b", name, re.IGNORECASE)
    form = re.search(r"pcie|nvl\d+", name, re.IGNORECASE)
    parts = [*([form[0]] if form else []), *([f"{size[1]}gb"] if size else [])]
    yield "-".join([family, *parts])
    if form:
        yield f"{family}-{form[0]}"
    elif size:
        yield f"{family}-{size[1]}gb"


@cache
def _relatives() -> Mapping[str, Relative]:
    return {
        row["accelerator"]: Relative(
            find_accelerator(row["from"]).name, float(row["gemm_factor"]), row["attention"], row["reason"]
        )
        for row in packaged_rows("transformers", "calibration_transfers")
    }
