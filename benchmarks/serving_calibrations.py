"""The constants of serving that are shipped, fitted again: ``python -m benchmarks.serving_calibrations``.

Fits all factors to the rows of ``serving_runs.csv``, with spreads of levels scaled by what does best on models left
out, and writes ``src/topoopt/inference/data/constants.csv`` and ``error_bands.csv``. With ``--page`` also the errors on
rows left out, into ``docs/serving-accuracy.md``: five folds; one model, engine or accelerator left out; rows that no
fit takes; after a few rows of one's own.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.kv_capacity import capacity_text
from benchmarks.serving_fit import Material, fit_everything, held_out_logs, material, predicted_logs
from topoopt.base.arrays import Floats, Ints
from topoopt.inference.step.constants import (
    CONSTANTS,
    Factors,
    constants_of_logs,
    engine_family,
    level_names,
    members_of,
    row_logs,
)
from topoopt.measurements.serving.columns import expected, observations, served_columns
from topoopt.measurements.serving.prediction import factor_logs, fit_factors
from topoopt.measurements.serving.run import ServedRun, read_runs

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "benchmarks" / "data" / "serving_runs.csv"
JUDGED = ROOT / "benchmarks" / "data" / "serving_judged.csv"
DATA = ROOT / "src" / "topoopt" / "inference" / "data"
CONSTANTS_FILE, BANDS_FILE = DATA / "constants.csv", DATA / "error_bands.csv"
PAGE = ROOT / "docs" / "serving-accuracy.md"

SCALES = (0.5, 0.7, 1.0)
FOLDS, STACK_FOLDS, SEED, ROUNDS = 5, 10, 0, 30
WORKERS = 2
LONG_PROMPT = 3600
"""Tokens of a prompt that is long: a nominal 4,096, whose lengths InferenceX draws from 0.8 to 1 of it."""
BAND, TAILS = 0.8, (0.1, 0.08, 0.06, 0.04, 0.02, 0.01)
"""Share of runs that a band of errors holds, and shares that are tried of those below, and of those above it."""
OWN_ROWS, FEWEST_OF_A_STACK = (3, 5), 10

LARGE = "dsv3_large_ep"
"""DeepSeek-V3 with its experts over several servers: two rows that read, two that answer."""

SUBJECTS: tuple[tuple[str, str, Callable[[ServedRun], bool]], ...] = (
    ("time per output token, closed loops", "tpot", lambda run: run.mode in ("agg", "disagg")),
    ("– one pool", "tpot", lambda run: run.mode == "agg"),
    ("– two pools", "tpot", lambda run: run.mode == "disagg"),
    ("– H100, one pool", "tpot", lambda run: run.mode == "agg" and "H100" in run.stack.accelerator.name),
    ("– dense models", "tpot", lambda run: run.mode in ("agg", "disagg") and not run.stack.model.experts),
    (
        "– models with experts",
        "tpot",
        lambda run: run.mode in ("agg", "disagg") and bool(run.stack.model.experts),
    ),
    (
        "– long prompts (4,096 tokens and more)",
        "tpot",
        lambda run: run.mode in ("agg", "disagg") and run.prompt >= LONG_PROMPT,
    ),
    ("time to first token, closed loops", "ttft", lambda run: run.mode in ("agg", "disagg")),
    ("time of a batch, FasterTransformer", "e2e", lambda run: run.row.dataset == "fastertransformer"),
    (
        "– tensor parallel over servers",
        "e2e",
        lambda run: run.row.dataset == "fastertransformer" and run.stack.split.tensor > 8,
    ),
    (
        "– pipeline stages",
        "e2e",
        lambda run: run.row.dataset == "fastertransformer" and run.stack.split.pipeline > 1,
    ),
    ("time per output token, Splitwise", "tpot", lambda run: run.row.dataset == "splitwise"),
    ("throughput, all requests at once", "throughput", lambda run: run.mode == "offline"),
    ("tokens read a second, experts over 4 servers", "prompt_rate", lambda run: run.row.dataset == LARGE),
    ("tokens answered a second, experts over 9 and 16", "throughput", lambda run: run.row.dataset == LARGE),
)
"""What errors are given of: in words, its quantity, its runs."""

UNFITTED = (
    "Predicted with the shipped constants, and scored although what was measured is not what the law describes.",
    "Those of `benchmarks/data/serving_judged.csv` are only to judge by, and were in sight when the law of mixed steps",
    "was written, which was chosen by the rows of the fit. The 32 of InferenceX's experiment are medians of",
    "two populations: its client draws the same prompts again for each number of clients (seed 0) on a server",
    "with a prefix cache, so that half of the prompts of a run can have been read before; and Qwen3.5 on that nightly",
    "build of vLLM read 5,763 tokens/s of prompts on 8 H200, 2.5% of their arithmetic, which no constant foresees.",
)
"""What the rows are of which errors are given although no fit takes them."""

NAMES: tuple[tuple[str, Callable[[ServedRun], str]], ...] = (
    ("engine", lambda run: run.stack.settings.engine),
    ("accelerator", lambda run: run.stack.accelerator.name),
    ("model", lambda run: run.stack.model.name),
)
"""By what errors are given."""


def main() -> None:
    """Choose the scale, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write the page of errors, too")
    with_page = parser.parse_args().page
    runs = read_runs(RUNS).runs
    ready = material(runs)
    with ProcessPoolExecutor(WORKERS) as pool:
        by_scale = {scale: pool.submit(factors_without_models, ready, scale) for scale in SCALES}
        unseen = {scale: logs_without_models(ready, one.result()) for scale, one in by_scale.items()}
        scale = min(SCALES, key=lambda one: _mape(ready, unseen[one], *SUBJECTS[0][1:])[0])
        off = {one: _mape(ready, logs, *SUBJECTS[0][1:]) for one, logs in unseen.items()}
        print(off, "->", scale, flush=True)
        parts = {
            "five folds": np.random.default_rng(SEED).permutation(len(runs)) % FOLDS,
            "stacks left out": np.random.default_rng(SEED).permutation(len(runs))[_parts(runs, _stack_name)]
            % STACK_FOLDS,
            "one engine left out": _parts(runs, lambda run: engine_family(run.stack.settings.engine)),
            "one accelerator left out": _parts(runs, lambda run: run.stack.accelerator.name),
        }
        left_out = {
            name: pool.submit(held_out_logs, ready, part, scale, ROUNDS) for name, part in parts.items()
        }
        factors = fit_everything(ready, scale, ROUNDS)
        held = {"one model left out": unseen[scale], **{name: one.result() for name, one in left_out.items()}}
    write_constants(ready, factors, scale)
    write_bands(ready, {"stack": held["stacks left out"], "model": held["one model left out"]})
    if with_page:
        order = (
            "five folds",
            "stacks left out",
            "one model left out",
            "one engine left out",
            "one accelerator left out",
        )
        shown = {"fitted rows": predicted_logs(ready, factors), **{name: held[name] for name in order}}
        without = by_scale[scale].result()
        PAGE.write_text(
            page(ready, shown, scale)
            + unfitted_text(runs, factors)
            + own_rows_text(ready, without)
            + capacity_text(),
            encoding="utf-8",
        )


def _stack_name(run: ServedRun) -> str:
    return level_names(run.stack)["stack"]


def write_bands(ready: Material, held: Mapping[str, Floats]) -> None:
    """Write the bands of measured over predicted by what was left out, and how many rows of other models they hold."""
    seen, models = ready.seen, np.array([run.stack.model.name for run in ready.runs])[ready.seen.rows]
    dense = np.array([not run.stack.model.experts for run in ready.runs])[seen.rows]
    served = np.array([run.mode in ("agg", "disagg", "offline") for run in ready.runs])[seen.rows]
    with BANDS_FILE.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["left_out", "kind", "quantity", "rows", "low", "high", "held_percent"])
        for left_out, logs in held.items():
            for kind, ours in (("dense", dense), ("experts", ~dense)):
                for quantity in ("tpot", "ttft", "throughput"):
                    here = ours & served & (seen.quantities == quantity)
                    off, names = (seen.logs - logs)[here], models[here]
                    tail = min(TAILS, key=lambda one: abs(_held_share(off, names, one) - BAND))
                    ends = [f"{end:.3f}" for end in np.exp(np.quantile(off, (tail, 1 - tail)))]
                    share = 100 * _held_share(off, names, tail)
                    lines.writerow([left_out, kind, quantity, len(off), *ends, f"{share:.0f}"])


def _held_share(off: Floats, names: NDArray[np.str_], tail: float) -> float:
    """Return the share of rows, each model's by the band of the others, that lie within it."""
    held = 0
    for name in np.unique(names):
        own = names == name
        low, high = np.quantile(off[~own], (tail, 1 - tail))
        held += int(((off[own] >= low) & (off[own] <= high)).sum())
    return held / len(off)


def unfitted_text(runs: Sequence[ServedRun], factors: Factors) -> str:
    """Return the errors on rows that no fit takes: those that waited for admission, and those kept to judge by."""
    groups: dict[str, list[ServedRun]] = {
        "waited for admission, as the table says": [r for r in runs if r.queue_limited]
    }
    for run in read_runs(JUDGED).runs:
        groups.setdefault(f"{run.row.dataset}, {run.mode}", []).append(run)
    lines = [
        "",
        "## Rows that no fit takes",
        "",
        *UNFITTED,
        "",
        "| rows | rows | tpot | ttft | e2e | throughput |",
        "|---|---|---|---|---|---|",
    ]
    for name, some in groups.items():
        logs = row_logs(factors, members_of(factors.names, [level_names(run.stack) for run in some]))
        values = expected(served_columns(some), constants_of_logs(logs))
        cells = []
        for quantity in ("tpot", "ttft", "e2e", "throughput"):
            off = [
                100 * abs(float(values[quantity][place]) / run.measured[quantity] - 1)
                for place, run in enumerate(some)
                if run.measured.get(quantity, 0.0) > 0
            ]
            cells.append(f"{np.mean(off):.1f} ({np.median(off):.1f})" if off else "–")
        lines.append(f"| {name} | {len(some)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def write_constants(ready: Material, factors: Factors, scale: float) -> None:
    """Write base and factors, and how many runs have each name."""
    counts = Counter(int(one) for row in ready.members for one in row)
    with CONSTANTS_FILE.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["level", "name", "runs", *CONSTANTS])
        lines.writerow(["base", f"spreads of levels times {scale:g}", len(ready.runs), *_cells(factors.base)])
        for place, (level, name) in enumerate(factors.names):
            lines.writerow([level, name, counts[place], *_cells(factors.logs[place])])


def _cells(logs: Floats) -> list[str]:
    return [f"{value:.4g}" for value in np.exp(logs)]


def _parts(runs: Sequence[ServedRun], name: Callable[[ServedRun], str]) -> Ints:
    return np.unique([name(run) for run in runs], return_inverse=True)[1]


def _mape(
    ready: Material, logs: Floats, quantity: str, of: Callable[[ServedRun], bool]
) -> tuple[float, float, int]:
    """Return mean and median of absolute errors in percent, and how many there are."""
    seen = ready.seen
    chosen = [
        place
        for place, (name, row) in enumerate(zip(seen.quantities, seen.rows, strict=True))
        if name == quantity and of(ready.runs[row])
    ]
    if not chosen:
        return np.nan, np.nan, 0
    off = 100 * np.abs(np.exp(logs[chosen] - seen.logs[chosen]) - 1)
    return float(off.mean()), float(np.median(off)), len(chosen)


def page(ready: Material, held_out: dict[str, Floats], scale: float) -> str:
    """Return the page: what errors are on rows that a fit has seen, and on rows that it has not."""
    lines = [
        "# How far serving is off",
        "",
        "Written by `python -m benchmarks.serving_calibrations --page`; every number is measured there. Errors are the",
        "mean (and median) of absolute errors in percent of what was measured, over",
        "`benchmarks/data/serving_runs.csv`, whose rows are published by others. Rows in which",
        "requests waited for admission are fitted by none; their errors stand below.",
        "AllReduces are those of `topoopt collective --one-shot`: none of their times is fitted here.",
        f"Spreads of levels are scaled by {scale:g}, of {', '.join(map(str, SCALES))} the best for models left out.",
        "*Stacks left out* are a tenth of the stacks (engine, model, accelerator, format) at a time.",
        "*Fitted rows* have been seen by the constants, and say nothing of others.",
        "",
        f"| | rows | {' | '.join(held_out)} |",
        f"|---|---|{'---|' * len(held_out)}",
    ]
    for words, quantity, of in SUBJECTS:
        cells = [_mape(ready, logs, quantity, of) for logs in held_out.values()]
        errors = " | ".join(f"{mean:.1f} ({median:.1f})" for mean, median, _ in cells)
        lines.append(f"| {words} | {cells[0][2]} | {errors} |")
    folds = held_out["five folds"]
    for title, name in NAMES:
        lines += [
            "",
            f"By {title}, five folds, closed loops:",
            "",
            f"| {title} | rows | time per token | first token |",
        ]
        lines.append("|---|---|---|---|")
        for one in sorted({name(run) for run in ready.runs if run.mode in ("agg", "disagg")}):
            pair = [_mape(ready, folds, quantity, _is(name, one)) for quantity in ("tpot", "ttft")]
            shown = [f"{mean:.1f} ({median:.1f})" if count else "–" for mean, median, count in pair]
            lines.append(f"| {one} | {pair[0][2]} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _is(name: Callable[[ServedRun], str], one: str) -> Callable[[ServedRun], bool]:
    return lambda run: run.mode in ("agg", "disagg") and name(run) == one


def factors_without_models(ready: Material, scale: float) -> dict[str, Factors]:
    """Return the factors that are fitted to all rows but those of a model, by its name."""
    names = np.array([run.stack.model.name for run in ready.runs])[ready.seen.rows]
    return {
        str(name): fit_everything(ready.take(names != name), scale, ROUNDS)
        for name in np.unique(names).tolist()
    }


def logs_without_models(ready: Material, without: Mapping[str, Factors]) -> Floats:
    """Return predictions of every observation by the factors without its model."""
    names = np.array([ready.runs[row].stack.model.name for row in ready.seen.rows])
    logs = np.full(len(names), np.nan)
    for name, factors in without.items():
        logs[names == name] = predicted_logs(ready, factors)[names == name]
    return logs


def own_rows_text(ready: Material, without: Mapping[str, Factors]) -> str:
    """Return errors after a few rows of one's own: constants without the engine's model, then fitted to these rows."""
    generator = np.random.default_rng(SEED)
    before: list[float] = []
    after: dict[int, list[float]] = {count: [] for count in OWN_ROWS}
    models = np.array([run.stack.model.name for run in ready.runs])
    for model, factors in without.items():
        logs = row_logs(factors, ready.members)
        for stack in _stacks(ready, np.flatnonzero(models == model)):
            own = logs[stack]
            seen = observations([ready.runs[row] for row in stack], constants_of_logs(own))
            order = generator.permutation(len(stack))
            judged = seen.take(np.isin(seen.rows, order[max(OWN_ROWS) :]) & (seen.quantities == "tpot"))
            before += np.abs(judged.percents_off(own)).tolist()
            for count in OWN_ROWS:
                fitted = fit_factors(seen.take(np.isin(seen.rows, order[:count])), own)
                after[count] += np.abs(judged.percents_off(own + factor_logs(fitted))).tolist()
    counts = "; ".join(
        f"after {count} rows {np.mean(off):.1f} ({np.median(off):.1f})" for count, off in after.items()
    )
    return (
        "\n## After a few rows of one's own\n\nConstants without any row of the model, then\n"
        "`topoopt serving --calibrate` on a few rows of one stack (engine, accelerator, model, format), judged on its "
        f"others; {len(before)} rows of stacks with at least {FEWEST_OF_A_STACK}. "
        f"Time per output token: before {np.mean(before):.1f} "
        f"({np.median(before):.1f}); {counts}.\n"
    )


def _stacks(ready: Material, rows: Ints) -> list[Ints]:
    """Return the runs of each stack that has enough of them."""
    level = [name for name, _ in ready.names]
    place = next(i for i in range(ready.members.shape[1]) if level[ready.members[rows[0], i]] == "stack")
    names = ready.members[rows, place]
    tpot = {
        int(row) for row, name in zip(ready.seen.rows, ready.seen.quantities, strict=True) if name == "tpot"
    }
    parts = [
        np.array([row for row in rows[names == one] if row in tpot], np.int64) for one in np.unique(names)
    ]
    return [part for part in parts if len(part) >= FEWEST_OF_A_STACK]


if __name__ == "__main__":
    main()
