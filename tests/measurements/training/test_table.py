"""Tables of runs as people write them: headings, separators, words and empty cells."""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.run_table import degree, number
from topoopt.measurements.training import Runs, read_runs
from topoopt.measurements.training.cells import (
    out_of_memory,
    precision,
    recomputation,
    switched_on,
    zero_stage,
)

HEADINGS = "gpus,gpu,gbs,layers,hidden,heads,seq,tp,mbs,iter_time_s,note"
CELLS = "8,A100-SXM4-80GB,64,24,2048,16,2048,2,4,2.5,plain"


def read(folder: Path, text: str) -> Runs:
    path = folder / "runs.csv"
    path.write_bytes(text.encode())
    return read_runs(path)


@pytest.mark.parametrize(
    "headings",
    [
        HEADINGS.upper(),
        HEADINGS.replace(",", ", "),
        "n_gpus,GPU type,Global batch,num_layers,hidden_size,n_heads,seq-len,TP size,Micro-batch,step_time_s,note",
    ],
)
def test_a_heading_is_known_by_its_other_names(tmp_path: Path, headings: str) -> None:
    (usual,) = read(tmp_path, f"{HEADINGS}\n{CELLS}\n").runs
    found = read(tmp_path, f"{headings}\n{CELLS}\n")
    assert found.runs == (usual,)
    assert found.table.headings == tuple(headings.split(","))  # and written again as they were
    assert found.table.unknown_columns == ()


def test_a_vague_heading_beside_a_clear_one_is_not_read_but_named(tmp_path: Path) -> None:
    found = read(tmp_path, f"{HEADINGS},System\n{CELLS},our cluster\n")
    assert found.table.unknown_columns == ("System",)
    assert found.runs[0].system.accelerator == "A100-SXM4-80GB"
    alone = read(tmp_path, f"{HEADINGS.replace('gpu,', 'System,')}\n{CELLS}\n")
    assert alone.runs == found.runs


def test_a_column_that_nobody_knows_is_named(tmp_path: Path) -> None:
    assert read(tmp_path, f"{HEADINGS},weather\n{CELLS},fine\n").table.unknown_columns == ("weather",)


def test_words_of_a_row() -> None:
    for word, stage in {
        "zero1": 1,
        "ZeRO-2": 2,
        "stage 3": 3,
        "1.0": 1,
        "FULL_SHARD": 3,
        "none": 0,
        "n/a": 0,
    }.items():
        assert zero_stage({"zero": word}) == stage, word
    for word, how in {
        "True": "full",
        "uniform": "full",
        "core_attn": "selective",
        "off": "none",
        "NaN": "none",
    }.items():
        assert recomputation({"recompute": word}) == how, word
    assert [precision({"precision": word}) for word in ("bfloat16", "half", "amp_bf16", "-")] == [
        "bf16",
        "fp16",
        "bf16",
        "",
    ]
    assert [switched_on({"sp": word}, "sp", True) for word in ("off", "nan", "1.0")] == [False, True, True]
    assert [out_of_memory({"status": word}) for word in ("OOM", "CUDA out of memory", "ok", "")] == [
        True,
        True,
        False,
        False,
    ]
    assert [number({"mfu_pct": word}, "mfu_pct") for word in ("~38.5", "≈ 40?", "41?")] == [38.5, 40, 41]
    assert (number({"gpus": "1,024"}, "gpus"), degree({"vpp": "0"}, "vpp"), degree({}, "vpp")) == (1024, 1, 1)
    for wrong in ("-1", "4", "yes please"):
        with pytest.raises(InvalidInput, match="zero: expected one of"):
            zero_stage({"zero": wrong})
