"""A measured step of fine-tuning with adapters: the closed form of training, with what a row says."""

from dataclasses import replace

from topoopt.reinforcement.run_words import Row, needed, run_model, whole
from topoopt.transformers import Configuration, estimate_configuration, named_calibration, usual_system

USUAL_RANK = 16
"""Of adapters, of rows that do not say it; what they add to a step is small whatever the rank."""

FRAMEWORK = "torchtitan-eager-loss"
"""PyTorch's own tensor parallelism and loss, as libraries for fine-tuning have them."""


def fine_tuning_s(row: Row) -> float:
    """Return the seconds of a step; all layers are recomputed where it does not fit otherwise.

    Raises
    ------
    InvalidInput
        If something that decides the time is not stated, or nothing known.
    """
    model, accelerators = run_model(row), needed(row, "n_acc")
    tp, pp = whole(row, "train_tp") or 1, whole(row, "train_pp") or 1
    one = Configuration(
        tp=tp,
        pp=pp,
        dp=max(1, accelerators // (tp * pp)),
        global_batch=needed(row, "train_gbs"),
        sequence=needed(row, "max_len"),
        vpp=model.layers // pp // 2 if pp > 1 and model.layers % (2 * pp) == 0 else 1,
        precision=(row.get("precision") or "bf16").lower(),
        adapter_rank=USUAL_RANK,
    )
    calibration = named_calibration(None, row["accelerator"]).with_one_attention(None)
    system = usual_system(row["accelerator"], accelerators=accelerators)
    found = estimate_configuration(model, one, system, calibration, framework=FRAMEWORK)
    if not found.fits:
        whole_layers = replace(one, recompute="full")
        found = estimate_configuration(model, whole_layers, system, calibration, framework=FRAMEWORK)
    return found.iteration_time_s
