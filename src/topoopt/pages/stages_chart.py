"""The noun of a picture of a pipeline: its stages one after the other, and what goes from each to the next."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageBox:
    """One stage.

    Attributes
    ----------
    lines : tuple of str
        What it holds, computes and sits on.
    busy_s : float
        What it computes for one micro-batch; the boxes show it beside that of the slowest stage.
    """

    name: str
    lines: tuple[str, ...]
    busy_s: float


@dataclass(frozen=True, slots=True)
class StagesChart:
    """Stages from left to right.

    Attributes
    ----------
    name : str
        Stem of the file that it is drawn to.
    sends_bytes : tuple of float
        From each stage to the next, for one micro-batch.
    back : str
        What is said of the way from the last stage to the first; empty where there is none.
    """

    name: str
    title: str
    stages: tuple[StageBox, ...]
    sends_bytes: tuple[float, ...]
    back: str = ""
    note: str = ""
