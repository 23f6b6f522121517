"""Calibration: a few interpretable parameters measured for an accelerator and its software."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import Relative, accelerator_file, find_accelerator
from topoopt.schema.files import packaged_rows
from topoopt.transformers.system import GATHERS, unfused_bits

DIGITS = 4
"""Digits of a parameter that is fitted or written into a file."""

ATTENTIONS = ("auto", "fused", "eager")
"""Attention's core: fused (FlashAttention), eager (scores in memory), or auto: fused with ZeRO-3."""
ATTENTIONS_OF_RUNS = (*ATTENTIONS, "flash1", "flash2", "cudnn")
"""Implementations of runs that name the fused kernel: FlashAttention 1 or 2, or the newest of its accelerator
(cuDNN's in Transformer Engine, FlashAttention 3). Without a name it is PyTorch's with ZeRO-3, which is the second,
and Megatron's otherwise."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Range of a parameter, its spread between clusters (in natural logarithms), and its meaning."""

    low: float
    high: float
    spread: float
    meaning: str

    @property
    def is_share(self) -> bool:
        """Whether the parameter may be 0: it is looked for on a linear scale, with a spread in its own unit."""
        return self.low == 0


PARAMETERS: Mapping[str, Bounds] = {
    row["name"]: Bounds(float(row["low"]), float(row["high"]), float(row["spread"]), row["meaning"])
    for row in packaged_rows("transformers", "calibration_parameters")
}
"""The parameters with their bounds."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Speed of one kind of accelerator for transformers; see :data:`PARAMETERS` for the meaning of each number.

    Attributes
    ----------
    name : str
    accelerator : str
        A name of the catalogue.
    attention : str
        One of :data:`ATTENTIONS`.
    unfused : str
        ``none``, ``all``, or some of :data:`~topoopt.transformers.UNFUSED_PARTS` joined by ``+``.
    gathers : str
        One of :data:`~topoopt.transformers.GATHERS`.
    provenance : mapping of text to text
        Rows used, errors, the command that made it.
    """

    name: str
    accelerator: str
    gemm_efficiency: float
    gemm_half_depth: float
    gemm_half_side: float
    low_precision_gain: float
    attention_efficiency: float
    fused_attention: float
    sharded_attention: float
    memory_efficiency: float
    misaligned_slowdown: float
    layer_launch_s: float
    chunk_launch_s: float
    group_launch: float
    step_overhead_s: float
    collective_latency_s: float
    scale_up_efficiency: float
    network_efficiency: float
    tensor_overlap: float
    gather_overlap: float
    gradient_overlap: float
    replica_overlap: float
    straggling: float
    slow_straggling: float
    replica_straggling: float
    expert_launch: float = 3.0
    exchange_efficiency: float = 0.88
    attention: str = "auto"
    unfused: str = "none"
    gathers: str = "ahead"
    provenance: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name, bounds in PARAMETERS.items():
            value = getattr(self, name)
            if not bounds.low <= value <= bounds.high:
                raise InvalidInput(
                    f"calibration {self.name}: {name}: must lie in {bounds.low:g}..{bounds.high:g}, got {value}"
                )
        check_known(f"calibration {self.name}: attention", self.attention, ATTENTIONS)
        check_known(f"calibration {self.name}: gathers", self.gathers, GATHERS)
        unfused_bits(self.unfused)

    def parameters(self) -> dict[str, float]:
        """Return the fitted numbers by name."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def with_parameters(self, values: Mapping[str, float]) -> "Calibration":
        """Return a calibration with other numbers."""
        return replace(self, **values)  # type: ignore[arg-type]

    def with_one_attention(self, attention: str | None = None) -> "Calibration":
        """Return a calibration that runs attention alike in every configuration: as given, or fused where it is auto.

        ``auto`` is a rule for the runs that were fitted. Among configurations it would favor ZeRO-3, whose runs had
        FlashAttention, over others, whose runs were older.
        """
        usual = "fused" if self.attention == "auto" else self.attention
        return replace(self, attention=attention or usual)

    def with_unfused(self, word: str) -> "Calibration":
        """Return a calibration with a framework's unfused parts; unchanged if there are none."""
        return replace(self, unfused=word) if word else self


assert {item.name for item in fields(Calibration)} >= set(PARAMETERS)


def rounded(value: float) -> float:
    """Return a parameter with the digits of a file.

    Examples
    --------
    >>> rounded(0.123456), rounded(1234567.0)
    (0.1235, 1235000.0)
    """
    return float(f"{value:.{DIGITS}g}")


OVERLAPS: Mapping[str, str] = {
    "tensor": "tensor_overlap",
    "gathers": "gather_overlap",
    "gradients": "gradient_overlap",
    "replicas": "replica_overlap",
}
"""Communication that may hide behind computation, and the parameter for its hidden share."""


def without_overlap(calibration: Calibration, names: str | Sequence[str]) -> Calibration:
    """Return a calibration with which some communication, named in a list or with commas, hides behind nothing.

    Raises
    ------
    InvalidInput
        For a name that is not in :data:`OVERLAPS`.
    """
    texts = [names] if isinstance(names, str) else names
    listed = [name.strip() for text in texts for name in text.split(",")]
    for name in listed:
        check_known("no_overlap", name, OVERLAPS)
    return replace(calibration, **dict.fromkeys([OVERLAPS[name] for name in listed], 0.0))  # type: ignore[arg-type]


GRADES = ("measured", "rough", "guess")
"""Grades of a calibration's quality, best first."""
ROUGH_PERCENT, GUESS_PERCENT = 10.0, 20.0
"""Error of runs of sizes that were held out from which a calibration is rough, and no more than a guess."""
MEANS_WITHIN = 1.61
"""Mean errors within which 80 % of errors are: 1.606 if they are normal, ln 5 if their density falls exponentially."""
UNKNOWN_PERCENT = 20.0
"""Mean error that is assumed where no runs were fitted."""
FEW_RUNS = 2
"""Runs per parameter below which a calibration is rough; below one it is a guess."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Basis of a calibration.

    Attributes
    ----------
    runs : int
        Fitted; 0 for none of this accelerator.
    held_out_percent, sizes_held_out_percent, stacks_held_out_percent : float or None
        Mean absolute error of runs that were held out at random, of whole sizes and of whole stacks (a model, an
        accelerator and its software) that were; None where not known.
    grade : str
        One of :data:`GRADES`.
    others_from : str
        For a profile, the source of everything that is not about kernels.
    """

    runs: int
    held_out_percent: float | None
    sizes_held_out_percent: float | None
    grade: str
    others_from: str = ""
    stacks_held_out_percent: float | None = None

    @property
    def interval_share(self) -> float:
        """Share of an iteration time by which 80 % of measured runs of other stacks are off at most.

        :data:`MEANS_WITHIN` times the mean error of stacks that were held out; :data:`UNKNOWN_PERCENT` where no runs
        were fitted. Of 153 published runs that no fit has seen (``published_runs.csv``), 74 % are within it as people
        type them, and 85 % with full words.
        """
        percent = self.stacks_held_out_percent or self.sizes_held_out_percent or UNKNOWN_PERCENT
        return MEANS_WITHIN * percent / 100

    def __str__(self) -> str:
        """Return it in a line."""
        if self.others_from:
            return f"rough: kernels from a profile, all else from {self.others_from}"
        if not self.runs:
            return "a guess: no run of this accelerator was fitted"
        few = f", fewer than its {len(PARAMETERS)} parameters" if self.runs < len(PARAMETERS) else ""
        errors = [
            f"{percent:g}% off {where}"
            for percent, where in (
                (self.held_out_percent, "where runs are held out"),
                (self.sizes_held_out_percent, "where whole sizes are"),
                (self.stacks_held_out_percent, "where whole stacks are"),
            )
            if percent is not None
        ]
        what = f"fitted to {self.runs:,} runs{few}"
        grade = {"measured": "", "rough": "rough: ", "guess": "a guess: "}[self.grade]
        return grade + "; ".join([what, ", ".join(errors)] if errors else [what])


def calibration_quality(calibration: Calibration) -> Quality:
    """Return the basis of a calibration, and a grade.

    Fewer runs than parameters leave most of them where they started, which is a guess; so is an error of more than
    :data:`GUESS_PERCENT` on sizes that were held out. Less than :data:`FEW_RUNS` runs for a parameter, or more than
    :data:`ROUGH_PERCENT`, is rough.

    Examples
    --------
    >>> from topoopt.transformers import find_calibration
    >>> calibration_quality(find_calibration("h100")).grade, calibration_quality(find_calibration("b200")).grade
    ('measured', 'guess')
    """
    provenance = calibration.provenance
    if "others_from" in provenance:
        return Quality(0, None, None, "rough", provenance["others_from"])
    runs = sum(int(count) for count in re.findall(r"\w+ (\d+)", provenance.get("runs", "")))
    random, sizes, stacks = (
        _all(provenance.get(f"mape_percent_{name}", ""))
        for name in ("held_out", "size_held_out", "stack_held_out")
    )
    worst = max((percent for percent in (random, sizes) if percent is not None), default=0.0)
    grade = 0 + (worst > ROUGH_PERCENT or runs < FEW_RUNS * len(PARAMETERS))
    if runs < len(PARAMETERS) or worst > GUESS_PERCENT:
        grade = 2
    return Quality(runs, random, sizes, GRADES[grade], stacks_held_out_percent=stacks)


def _all(errors: str) -> float | None:
    found = re.search(r"\ball ([\d.]+)", errors)
    return float(found[1]) if found else None


def relative_of(accelerator: str) -> Relative | None:
    """Return the relative of an accelerator in the catalogue; None where it has its own runs, or no relative."""
    relative = accelerator_file(accelerator).relative
    try:
        return relative and replace(relative, accelerator=find_accelerator(relative.accelerator).name)
    except InvalidInput as error:
        raise InvalidInput(f"relative of {accelerator}: {error}") from None


def are_alike(one: str, other: str) -> bool:
    """Return whether two accelerators are of one architecture and rest on the same runs: one's, or a third's."""
    parts = find_accelerator(one), find_accelerator(other)
    sources = [relative.accelerator if (relative := relative_of(part.name)) else part.name for part in parts]
    return parts[0].architecture == parts[1].architecture and sources[0] == sources[1]


def peak_rates(accelerator: str) -> Mapping[str, float]:
    """Return the dense peak rates in FLOP/s by precision; a relative's where none are published.

    Raises
    ------
    InvalidInput
        If neither is known.
    """
    part = find_accelerator(accelerator)
    relative = relative_of(part.name)
    peaks = part.peaks or (find_accelerator(relative.accelerator).peaks if relative else {})
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
