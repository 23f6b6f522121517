"""The words of a scheduler that gives out single workers."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from topoopt.schema.words.word import Amount, Switch, Word, panel


@panel("Scheduler of single workers")
class ScheduleWords(TypedDict, total=False):
    """Who gets how many workers and where, on a network that jobs share; by default that is cassini-24."""

    scheduler: Annotated[Sequence[str], Word("LIST", commas="names with commas")]
    """With commas, beside each other: themis, pollux, proximity, random, ideal; also themis+cassini, pollux+mltcp. A
    worker is a server of one accelerator, and the servers of a trace are workers."""
    cassini: Switch
    """With all of them but ideal: choose placements by compatibility, and shift jobs in time."""
    merging: Annotated[str, Word("strict|identical|contained", "identical")]
    """With CASSINI, which links count as one: none, and loops of jobs and links discard a placement; those on which the
    same jobs send the same; also those whose jobs all meet on a fuller one."""
    sharing: Annotated[str, Word("fair|mltcp|static", "fair")]
    """How jobs share a link: alike, as MLTCP lets them, or 60 to 40."""
    epoch: Annotated[Amount, Word("TIME", "600s")]
    """After which themis and pollux take all workers back."""
    restart_time: Annotated[Amount, Word("TIME", "0s")]
    """For which a job stands still when its workers change."""
    jitter: Annotated[float, Word("X", 0.0)]
    """Standard deviation of computing, as a part of it."""
    noise_scale: Annotated[float, Word("X", 1.0)]
    """Of gradients, over the batch that a job asks for: what samples of larger batches are worth (assumed)."""
