"""What was measured of runs, as observations that constants are fitted to; and which numbers say nothing of the law."""

from collections.abc import Sequence

import numpy as np

from topoopt.inference import Constants, ServedStack
from topoopt.measurements.serving.columns import RunColumns
from topoopt.measurements.serving.fit import Observations
from topoopt.measurements.serving.law import QUANTITIES, expected
from topoopt.measurements.serving.run import ServedRun

SPREADS = {"tpot": 0.08, "ttft": 0.35, "prefill": 0.15, "e2e": 0.08, "throughput": 0.2, "prompt_rate": 0.2}
"""By how much, in logarithms, each quantity is expected to be missed: its weight in a fit."""

LONG_WAIT = 0.3
"""A first token that takes longer than this share of the answer hides a limit of admission."""

EARLY = 0.8
"""A whole run shorter than this share of its own tokens' time was stopped before its last token."""


def stack_of(run: ServedRun) -> ServedStack:
    """Return what of a run its constants depend on."""
    return ServedStack(
        run.model, run.accelerator, run.settings, run.engine, run.version, run.drafted, run.decode
    )


def why_not_scored(run: ServedRun, quantity: str) -> str:
    """Return why a measured number says nothing of the law; nothing where it does."""
    seen = run.measured
    if run.mode in ("agg", "disagg") and quantity in ("tpot", "ttft", "throughput"):
        if run.queue_limited:
            return "requests waited for admission, as the table says"
        decoding = seen.get("tpot", np.inf) * max(run.answer - 1, 1)
        if seen.get("ttft", 0.0) > LONG_WAIT * decoding:
            return f"ttft above {LONG_WAIT:g} of the time of the answer hides a limit of admission"
    if quantity == "e2e" and seen["e2e"] < EARLY * (run.answer - 1) * seen.get("tpot", 0.0):
        return "stopped before its last token, by its own time per token"
    return ""


def observations(runs: Sequence[ServedRun], columns: RunColumns, law: Constants) -> Observations:
    """Return what was measured of runs and is scored, of quantities that the law has."""
    values = expected(columns, law)
    found = [
        (row, name, np.log(run.measured[name]), SPREADS[name])
        for row, run in enumerate(runs)
        for name in QUANTITIES
        if run.measured.get(name, 0.0) > 0
        and not why_not_scored(run, name)
        and np.isfinite(values[name][row])
    ]
    rows, names, logs, spreads = zip(*found, strict=True) if found else ((), (), (), ())
    return Observations(np.array(rows, np.int64), names, np.array(logs, float), np.array(spreads, float))
