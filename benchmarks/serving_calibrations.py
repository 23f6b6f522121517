"""The constants of serving that are shipped, fitted again: ``python -m benchmarks.serving_calibrations``.

Fits all factors to the rows of ``serving_runs.csv``, with spreads of levels scaled by what does best in five folds,
and writes ``src/topoopt/inference/data/constants.csv``. With ``--page`` also the errors on rows left out, into
``docs/serving-accuracy.md``: five folds; one model, engine or accelerator left out; after a few rows of one's own.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.kv_capacity import capacity_text
from benchmarks.serving_fit import Material, fit_everything, held_out_logs, material, predicted_logs
from topoopt.base.arrays import Floats, Ints
from topoopt.inference.step.constants import CONSTANTS, Factors, constants_of_logs, engine_family, row_logs
from topoopt.measurements.serving.columns import observations
from topoopt.measurements.serving.prediction import factor_logs, fit_factors
from topoopt.measurements.serving.run import ServedRun, read_runs

ROOT = Path(__file__).parents[1]
RUNS = ROOT / "benchmarks" / "data" / "serving_runs.csv"
CONSTANTS_FILE = ROOT / "src" / "topoopt" / "inference" / "data" / "constants.csv"
PAGE = ROOT / "docs" / "serving-accuracy.md"

SCALES = (0.7, 1.0)
FOLDS, SEED, ROUNDS = 5, 0, 40
WORKERS = 3
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
    folds = np.random.default_rng(SEED).permutation(len(runs)) % FOLDS
    by_scale = {scale: held_out_logs(ready, folds, scale, ROUNDS) for scale in SCALES}
    scale = min(SCALES, key=lambda one: _mape(ready, by_scale[one], *SUBJECTS[0][1:])[0])
    print(
        {one: _mape(ready, logs, *SUBJECTS[0][1:]) for one, logs in by_scale.items()}, "->", scale, flush=True
    )
    factors = fit_everything(ready, scale, ROUNDS)
    write_constants(ready, factors, scale)
    if with_page:
        with ProcessPoolExecutor(WORKERS) as pool:
            models = pool.submit(factors_without_models, ready, scale)
            left_out = {
                name: pool.submit(held_out_logs, ready, parts, scale, ROUNDS)
                for name, parts in {
                    "one engine left out": _parts(runs, lambda run: engine_family(run.stack.settings.engine)),
                    "one accelerator left out": _parts(runs, lambda run: run.stack.accelerator.name),
                }.items()
            }
            without = models.result()
            held_out = {
                "fitted rows": predicted_logs(ready, factors),
                "five folds": by_scale[scale],
                "one model left out": logs_without_models(ready, without),
                **{name: logs.result() for name, logs in left_out.items()},
            }
        PAGE.write_text(
            page(ready, held_out, scale) + own_rows_text(ready, without) + capacity_text(), encoding="utf-8"
        )


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
        "requests waited for admission are listed by `topoopt serving --runs`, not scored.",
        f"Spreads of levels are scaled by {scale:g}, the best of {', '.join(map(str, SCALES))} in five folds.",
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
    names = np.array([ready.runs[row].model.name for row in ready.seen.rows])
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
