"""A table of runs as a file: the columns that are known, under the names that people give them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from topoopt.errors import InvalidInput
from topoopt.files import csv_lines, read_text

NEEDED_COLUMNS = ("gpus", "gpu", "gbs")

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "gpus": ("num_gpus", "n_gpus", "ngpus", "accelerators", "world_size"),
    "gpu": ("gpu_type", "gpu_name", "accelerator"),
    "gpus_per_node": ("gpus_per_server", "accelerators_per_server", "accelerators_per_node"),
    "layers": ("num_layers", "n_layers", "n_layer", "num_hidden_layers"),
    "hidden": ("hidden_size", "d_model", "n_embd"),
    "heads": ("num_heads", "n_heads", "n_head", "num_attention_heads", "attention_heads"),
    "kv_heads": ("num_kv_heads", "n_kv_heads", "num_key_value_heads", "num_query_groups"),
    "ffn": ("ffn_size", "ffn_hidden", "ffn_hidden_size", "intermediate_size", "d_ff"),
    "seq": ("sequence", "seq_len", "seq_length", "sequence_length"),
    "vocab": ("vocabulary", "vocab_size"),
    "tp": ("tp_size", "tensor_parallel", "tensor_parallel_size", "tensor_model_parallel_size"),
    "pp": ("pp_size", "pipeline_parallel", "pipeline_parallel_size", "pipeline_model_parallel_size"),
    "dp": ("dp_size", "data_parallel", "data_parallel_size"),
    "cp": ("cp_size", "context_parallel", "context_parallel_size"),
    "ep": ("ep_size", "expert_parallel", "expert_parallel_size"),
    "etp": ("etp_size", "expert_tensor_parallel_size"),
    "vpp": ("vp", "virtual_pipeline", "interleave", "virtual_pipeline_stages"),
    "mbs": ("micro_batch", "microbatch", "micro_batch_size", "micro_bs"),
    "gbs": ("global_batch", "global_batch_size", "global_bs"),
    "recompute": ("recomputation", "recompute_granularity", "activation_checkpointing"),
    "zero": ("zero_stage",),
    "seq_parallel": ("sequence_parallel", "sp"),
    "precision": ("dtype",),
    "iter_time_s": ("iteration_time_s", "step_time_s", "time_per_iteration_s", "seconds_per_iteration"),
    "tokens_per_s_per_gpu": ("tokens_per_sec_per_gpu", "tokens_per_second_per_gpu", "tgs"),
}
"""Other names of a column; capitals, blanks and hyphens do not matter."""

OTHER_COLUMNS = (
    "id", "dataset", "model", "arch", "params_b", "nic_gbps_per_gpu", "status", "tflops_per_gpu",
    "tflops_def", "mfu_pct", "hfu_pct", "mem_gb", "derived_fields", "split_hint", "source", "source_quality",
    "note", "framework", "attention", "attention_kernel", "attn", "kernel", "flash_attention", "flash_attn",
)  # fmt: skip
"""Columns of the schema that have one name, and those that memory looks at."""

SEPARATORS = ",;\t"

_NAMES = {
    **{name: name for name in (*SPELLINGS, *OTHER_COLUMNS)},
    **{other: name for name, others in SPELLINGS.items() for other in others},
}


def column_of(written: str) -> str:
    """Return the column that a heading means; nothing for one that is not known.

    Examples
    --------
    >>> column_of(" Micro-Batch Size"), column_of("TP"), column_of("weather")
    ('mbs', 'tp', '')
    """
    return _NAMES.get("_".join(written.strip().lower().replace("-", " ").split()), "")


def read_run_table(path: str | Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the headings as written, and the rows, in which every known column also has its usual name.

    Lines without any cell are left out. Cells are separated by commas, or where the first line has more of them by
    semicolons or tabs.

    Raises
    ------
    InvalidInput
        If the file is no such table, a column is missing or there twice, or a line is too short or too long.
    """
    text = read_text(path)
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    rows = csv_lines(text, str(path), separator, strict=True)
    lines = [(number, line) for number, line in rows if any(cell.strip() for cell in line)]
    columns = tuple(lines[0][1]) if lines else ()
    names = _names(columns, path)
    for number, line in lines[1:]:
        if len(line) != len(columns):
            raise InvalidInput(
                f"{path}: line {number}: expected {len(columns)} cells as in the first line, got {len(line)}"
            )
    return columns, [
        {**dict(zip(columns, line, strict=True)), **dict(zip(names, line, strict=True))}
        for _, line in lines[1:]
    ]


def _names(columns: Sequence[str], path: str | Path) -> list[str]:
    """Return the usual name of each column, or as it is written where nobody knows it."""
    names = [column_of(written) or written for written in columns]
    for place, name in enumerate(names):
        if name in names[:place]:
            first = columns[names.index(name)]
            raise InvalidInput(
                f'{path}: the columns "{first}" and "{columns[place]}" say the same; leave one of them out'
            )
    for needed in NEEDED_COLUMNS:
        if needed not in names:
            raise InvalidInput(
                f"{path}: not a table of runs: there is no column {needed}; needed: {', '.join(NEEDED_COLUMNS)}"
            )
    return names
