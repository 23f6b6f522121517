"""Verbs and flags of other programs, and the command to type instead."""

from collections.abc import Mapping
from types import MappingProxyType

_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "this verb counts servers; give --servers": "gpus num_gpus",
        "give --servers or, for transformers, --accelerators": "gres",
        "--budget-usd is the most dollars, --proposals the strategies that a search tries": "budget",
        "--fabrics lists the networks to compare, --wiring fixes the wiring of topoopt": "topology network",
        "in serving, give a deployment such as --decode tp2": "tp tensor_parallel_size",
        "give --precision fp8 or bf16": "fp8 bf16",
        "LoRA is what finetune does by default; --full trains all weights, --qlora on a quantized model": (
            "lora method"
        ),
        "a name or a part of one is a word of its own, such as topoopt models llama": "family",
        "give --zero 1": "use_distributed_optimizer",
        "progress is shown on terminals only, on standard error; 2>/dev/null hides it": "q quiet",
        "topoopt --version prints the version; --json prints every figure of an answer": "v verbose V",
        "--json prints JSON, and --report FILE.html writes a page where a verb has one": "format",
        "the model is the first word after the verb, such as topoopt plan llama3-70b": "model",
        "give --global-batch (sequences per iteration of a transformer) or --batch-per-accelerator": "batch batch_size",
        "give --recompute selective or full": "recompute_activations",
        "give --vpp, the model chunks per pipeline stage": "num_layers_per_virtual_pipeline_stage",
        "lengths of requests are --isl and --osl": "max_model_len",
        "give --rate and --duration, or --trace FILE": "num_prompts",
        "nothing is written unless a flag such as --out names a file": "dry_run",
        "Chakra's traces come first and the network in flags, such as topoopt simulate PREFIX --fabric fat-tree": (
            "workload_configuration network_configuration system_configuration"
        ),
        "a job file or config.json is the first word after the verb, such as topoopt plan job.yaml": "config",
    }
)
REMEDIES: Mapping[str, str] = {name: text for text, names in _REMEDIES.items() for name in names.split()}
"""Remedies for flags of other programs that have no counterpart, by flag."""
VERB_SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "plan": "train training optimize optimise design run co-optimize",
        "llm search": "search parallelism parallelize",
        "llm estimate": "estimate predict calc calculon pretrain_gpt megatron",
        "llm": "transformer transformers",
        "serving": "serve inference infer deploy vllm sglang aiconfigurator",
        "choose": "buy recommend select decide purchase",
        "cost": "price prices bill bom tco capex quote",
        "compare": "networks fabrics network fabric benchmark fat-tree fattree",
        "hardware": "gpus gpu accelerators catalog catalogue parts",
        "models": "model zoo list ls",
        "collective": "collectives allreduce all-reduce nccl nccl-tests all_reduce_perf alltoall_perf",
        "topology": "wire wiring rings",
        "simulate": "sim simulation astra-sim simai",
        "verify": "validate check lint",
        "fail": "failure failures resilience",
        "finetune": "fine-tune lora tune",
        "rl": "grpo ppo rlhf",
        "studio": "gui ui web dashboard",
        "report": "html visualize plot show view draw",
        "sweep": "scan grid",
        "doctor": "info env environment diagnose check-install config settings",
        "cluster run": "schedule scheduler",
        "interleave": "cassini",
        "--help": "help usage docs",
        "--version": "version",
        "--install-completion": "completion",
    }
)
"""Names of other programs by our verb, with spaces between them."""


def verb_known_as(name: str) -> str | None:
    """Return the verb that another program calls by this name."""
    return next((ours for ours, others in VERB_SYNONYMS.items() if name in others.split()), None)
