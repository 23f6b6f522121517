"""Tables of runs as pages and logs have them: pasted, with a column for the accelerator where only a title says it.

Rows of NVIDIA NeMo and Megatron Bridge (docs/performance-summary.md), NeMo AutoModel (docs/performance-summary.md),
MosaicML's llm-foundry (scripts/train/benchmarking/README.md), torchtitan (benchmarks/llama3_h100_202412_torchtitan.md),
DGX Cloud (dgxc-benchmarking llama3.1/README.md), InternLM (doc/en/train_performance.md) and BigScience's chronicles;
the others have their headings and numbers made up.
"""

from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training import Run, Runs, read_runs


def read(folder: Path, text: str) -> Runs:
    (folder / "runs.csv").write_text(text.strip() + "\n")
    return read_runs(folder / "runs.csv")


def first(folder: Path, text: str) -> Run:
    runs = read(folder, text)
    assert not runs.not_scored, runs.not_scored
    return runs.runs[0]


def test_a_page_of_nemo(tmp_path: Path) -> None:
    run = first(
        tmp_path,
        """
| Model | System | #-GPUs | Precision | GBS | MBS | Sequence Length | FSDP | TP | PP | CP | VP | EP | GA | \
Tokens / sec / GPU | Model TFLOP / sec / GPU | Framework |
|-------|-----|--------|-----------|-----|----|-----------|----|----|----|----|----|----|----|------|------|---|
| LLAMA3_8B | DGX-GB300 | 8 | FP8-CS (FP8-MX) | 128 | 2 | 8192 | 0 | 1 | 1 | 1 | n/a | 1 | 8 | 37556 (36108) | \
1933 (1858) | NeMo 25.11 |
| GPT3-175B | DGX-H100 | 512 | FP8 | 2048 | 2 | 2048 | 0 | 4 | 8 | 1 | 6 | 1 | 64 | **832** | \
[895](https://mlcommons.org/benchmarks/training/) | NeMo 24.07 |
""",
    )
    one = run.configuration
    assert (run.system.accelerator, one.precision, one.micro_batch, one.dp, one.zero) == (
        "GB300-NVL72",
        "fp8",
        2,
        8,
        1,
    )
    assert run.measured_s == pytest.approx(128 * 8192 / 37556 / 8)
    other = read_runs(tmp_path / "runs.csv").runs[1]
    assert (other.configuration.vpp, other.configuration.dp) == (6, 16)
    assert other.measured_s == pytest.approx(2048 * 2048 / 832 / 512)


def test_a_page_of_automodel(tmp_path: Path) -> None:
    run = first(
        tmp_path,
        """
| Model | System | #GPUs | GBS | MBS | LBS | GA | Seq Length | TP | PP | CP | EP | VP | FSDP | Kernel Optimizations | \
Time per Global Step (s) | Model TFLOPs/sec/GPU | Tokens/sec/GPU |
|-------|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---------|---------:|--------:|----------:|
| DeepSeek V3 671B | DGX-H100 | 1024 | 8192 | 1 | 8 | 4 | 4096 | 1 | 4 | 1 | 64 | 8 | 256 | TE + DeepEP | \
37.87 | 216 | 865 |
| Nemotron V3 Nano 30B (26.02) | DGX-H100 | 8 | 512 | 4 | 4 | 16 | 4096 | 1 | 1 | 1 | 8 | - | 8 | TE + DeepEP | \
15.614 | 328 | 16,789 |
""",
    )
    assert (run.model.name, run.configuration.zero, run.configuration.dp, run.measured_s) == (
        "deepseek-v3",
        3,
        256,
        37.87,
    )
    assert read_runs(tmp_path / "runs.csv").runs[1].model.name == "nemotron-3-nano"
    assert read_runs(tmp_path / "runs.csv").table.unknown_columns == ("LBS", "Kernel Optimizations")


def test_a_table_of_mosaic(tmp_path: Path) -> None:
    run = first(
        tmp_path,
        """
|  Model | SeqLen (T) | # GPUs | GPU | MFU | HFU | Model TFLOP | MicroBatchSize | GradAccum | GlobalBatchSize | \
Throughput (S/s) | Throughput (T/s) | Throughput (T/s/GPU) | GlobalBatchSize (T) | Precision | MP Mode | \
Sharding Strategy | Activation Checkpointing | Activation CPUOffload | NumParams |
| --- | -- | - | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| mpt-70b | 2048 | 64 | h100_80gb | 42.57 | 56.76 | 4.212583E+14 | 8 | 4 | 2048 | 32 | 66523 | 1039 | 4194304 | \
amp_bf16 | DEFAULT | FULL_SHARD | True | False | 64862437376 |
""",
    )
    one = run.configuration
    assert (one.zero, one.recompute, one.micro_batch, one.precision, one.offload_activations) == (
        3,
        "full",
        8,
        "bf16",
        0,
    )
    assert run.measured_s == pytest.approx(2048 * 2048 / 1039 / 64)
    assert read_runs(tmp_path / "runs.csv").table.unknown_columns == ("Model TFLOP", "MP Mode")


def test_tables_of_torchtitan(tmp_path: Path) -> None:
    head = "model,gpu,GPUs,Techniques,Parallelism,Local batch size,AC,Sequence Length,TPS/GPU,Memory(GiB),framework\n"
    rows = (
        'Llama 3.1 8B,H100 96GB HBM2e,8,FSDP + torch.compile + Float8,,2,selective,8192,"8,532",76.8,torchtitan',
        'Llama 3.1 8B,H100 96GB HBM2e,8,Float8,"FSDP 4, CP 2",1,full,65536,"2,540",84.2,torchtitan',
        'Llama 3.1 405B,H100 96GB HBM2e,512,Float8,"FSDP 8, TP 8, PP8",32,full,8192,100,82.5,torchtitan',
    )
    runs = read(tmp_path, head + "\n".join(rows)).runs
    of = [run.configuration for run in runs]
    assert [(one.tp, one.pp, one.cp, one.dp, one.zero) for one in of] == [
        (1, 1, 1, 8, 3),
        (1, 1, 2, 4, 3),
        (8, 8, 1, 8, 1),
    ]
    assert [(one.global_batch, one.micro_batch, one.precision) for one in of] == [
        (16, 2, "fp8"),
        (4, 1, "fp8"),
        (256, 1, "fp8"),
    ]
    assert runs[0].peak_memory_bytes == 76.8 * 2**30
    assert runs[2].measured_s == pytest.approx(256 * 8192 / 100 / 512)


def test_a_table_of_dgx_cloud(tmp_path: Path) -> None:
    run = first(
        tmp_path,
        """
Model,GPU Type,GPUs,Datatype,SeqLen,Layers,FSDP,TP,PP,CP,EP,ETP,DP,VP,MBS,GBS,GA,CG,Time Mean (ms),Time Std (ms),\
TFLOPS_per_GPU Mean
llama3.1 405b,gb200,128,FP8,8192,126,True,2,1,1,1,2,GPUs/2,NA,1,GPUs/2,1,False,5741.470,68.670,1636.80
llama3.1 70b,h100,64,BF16,8192,80,False,4,4,2,1,1,GPUs/32,5,1,GPUs*2,64,True,,,400
""",
    )
    one = run.configuration
    assert (one.dp, one.global_batch, one.zero, one.graphs) == (64, 64, 3, False)
    assert run.measured_s == pytest.approx(5.74147)
    other = read_runs(tmp_path / "runs.csv").runs[1]
    assert (other.configuration.dp, other.configuration.global_batch, other.configuration.graphs) == (
        2,
        128,
        True,
    )
    assert other.time_from == "tflops_per_gpu"


def test_a_table_of_internlm(tmp_path: Path) -> None:
    run = first(
        tmp_path,
        """
Model,Hardware,GPU Number,TGS (Tokens/GPU/Second),TFLOPS,seq_len,micro_bsz,micro_num
llama2-7b,nvidia_a100-sxm4-80gb,1024,3625,184,2048,2,4
""",
    )
    assert (run.system.accelerator, run.configuration.global_batch) == ("A100-SXM4-80GB", 8192)
    assert run.measured_s == pytest.approx(8 * 2048 / 3625)


def test_a_chronicle_of_bigscience(tmp_path: Path) -> None:
    text = """
| GPUs | GPU | Size | DP | TP | PP | MBS |  GBS | Mem  | Sec/it | TFLOPs | Layers | Hidden size | SeqLen | Notes |
| ---: |---|---: | -: | -: | -: | --: | ---: | ---: | -----: | -----: |---|---|---| ------------------------ |
|  384 | A100 80GB | 200B | 12 | 8 | 4 | 1 | 2040 | 69GB | 136.07 | 140 | 60 | 14336 | 2048 | 05-26 |
|   64 | A100 80GB | 200B | 8 | 8 | 1 | 1 | 2040 | OOM | | | 60 | 14336 | 2048 | |
"""
    fit, over = read(tmp_path, text).runs
    assert (fit.measured_s, fit.peak_memory_bytes, fit.out_of_memory) == (136.07, 69e9, False)
    assert over.out_of_memory


def test_a_table_of_nodes_and_accumulation(tmp_path: Path) -> None:
    run = first(
        tmp_path,
        """
name,nodes,dp,tp,pp,mbs,batch_accumulation_per_replica,zero_stage,seq_len,hidden_size,num_layers,num_heads,vocab_size,gpu,\
tok/s/gpu,mfu (%)
a,2,16,1,1,2,32,1,4096,2048,16,32,128256,H100,41000,43.1
""",
    )
    assert (run.configuration.accelerators, run.configuration.global_batch) == (16, 16 * 2 * 32)
    assert run.measured_s == pytest.approx(64 * 4096 / 41000)


def test_a_table_of_megatron(tmp_path: Path) -> None:
    run = first(
        tmp_path,
        """
Model,GPU,Number of nodes,Tensor-parallel size,Pipeline-parallel size,Data-parallel size,Micro batch size,\
Global batch size,Sequence length,elapsed time per iteration (ms),throughput per GPU (TFLOP/s/GPU)
meta-llama/Meta-Llama-3-70B,H100,8,4,4,4,1,128,8192,9500.1,
""",
    )
    assert (run.model.name, run.configuration.tp, run.configuration.dp, run.measured_s) == (
        "llama3-70b",
        4,
        4,
        9.5001,
    )


def test_a_table_of_fine_tuning_with_uneven_lengths(tmp_path: Path) -> None:
    head = "model,gpu,gpus,gbs,packed_sequence_length,mean sequence length,std sequence length,sequence lengths\n"
    rows = (
        "llama3-8b,H100,8,32,8192,812.4,406.2,",
        "llama3-8b,H100,8,32,8192,,,512:30; 1024:10",
        "llama3-8b,H100,8,32,8192,,,512 1024 1024 512",
    )
    of = [run.configuration for run in read(tmp_path, head + "\n".join(rows)).runs]
    assert [(one.sequence, one.document) for one in of] == [(8192, 812), (8192, 640), (8192, 768)]
    assert [one.document_spread for one in of] == pytest.approx([0.5, 0.3464, 1 / 3], abs=1e-4)


def test_a_table_of_fine_tuning_tasks(tmp_path: Path) -> None:
    text = """
| Model | Task | #-GPUs | GPU | GBS | MBS | Packed Sequence Length | TP | PP | VP | Tokens / sec / GPU | Framework |
|-------|------|---|---|---|---|---|---|---|---|---|---|
| LLAMA3-70B | SFT | 32 | H100 | 32 | 1 | 4096 | 4 | 4 | 5 | 1595 | NeMo 24.12 |
| LLAMA3-70B | LoRA | 8 | H100 | 32 | 1 | 4096 | 2 | 4 | 20 | 2579 | NeMo 24.12 |
"""
    of = [run.configuration for run in read(tmp_path, text).runs]
    assert [(one.adapter_rank, one.adapters) for one in of] == [(0, "every-matrix"), (16, "qkv")]
    assert "Task" not in read(tmp_path, text).table.unknown_columns


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            "32,512 many",
            "document_lengths: expected lengths such as 512 1024, or with the numbers of samples 512:30",
        ),
        ("32,512:0", "document_lengths: expected"),
        ("32,;", 'document_lengths: expected lengths such as 512 1024, got ";"'),
        ("32,9000 9000", "document 9000: the average is longer than a sequence of 8192 tokens"),
        ("GPUs/3,", "gbs: expected a whole number >= 1, got 2.66667"),
        ('"32,5",', 'gbs: expected a number such as 5.5, got "32,5"'),
    ],
)
def test_what_cannot_be_read_is_a_reason(tmp_path: Path, cells: str, words: str) -> None:
    runs = read(tmp_path, f"model,gpu,gpus,gbs,sequence lengths\nllama3-8b,H100,8,{cells}")
    assert words in runs.not_scored[0].reason


def test_a_table_that_may_have_the_batch_under_another_name_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match='no column gbs; if that is "Batch size", call it gbs; needed: gpus'
    ):
        read(tmp_path, "Model,GPU,Number of GPUs,Batch size\nllama3-8b,H100,8,32")
