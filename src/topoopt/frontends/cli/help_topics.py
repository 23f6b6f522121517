"""Contents of the short help of a verb, common flags and examples; and the groups of the list of verbs."""

from collections.abc import Mapping
from types import MappingProxyType

GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "Plan": "plan compare simulate topology collective traffic",
        "Transformers": "llm finetune rl",
        "Serve": "serving",
        "Buy": "choose cost sweep results",
        "Operate": "cluster fail interleave phases mltcp",
        "Build": "verify rewire export profile testbed",
        "Look up": "studio report models hardware doctor",
        "Reproduce": "reproduce",
    }
)
"""Groups of the list of verbs, with their verbs."""
FEW = 20
"""Flags up to which the help of a verb shows all of them."""
COMMON = (
    "servers accelerators accelerator degree bandwidth fabrics wiring tp pp ep global_batch seq precision "
    "zero prices seed simulator out report as_json help"
)
"""Flags that the short help of every verb shows."""
OF_VERB: Mapping[str, str] = MappingProxyType(
    {
        "collective": "op bytes fabric schedule network_bandwidth runs",
        "llm estimate": "dp micro_batch runs",
        "llm traffic": "dp micro_batch",
        "llm search": "top",
        "rl": "algorithm policy prompts samples max_length",
        "finetune": "lora_rank full qlora",
        "serving": "rate isl osl slo_ttft slo_tpot engine mode",
        "cost": "bill technology utilization",
        "choose": "degrees bandwidths budget_usd deadline weights proposals",
        "simulate": "fabric collective transport fail_link timeline links",
        "cluster run": "generate jobs load horizon queue scheduler",
        "studio": "host port browser",
    }
)
"""Further flags in the short help of a verb."""
EXAMPLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "plan": (
            "plan llama3-70b --accelerators 256",
            "plan dlrm --servers 16 --bandwidth 100Gbps --out plan.json",
        ),
        "compare": ("compare llama3-8b --accelerators 64", "compare plan.json --simulator flow"),
        "simulate": ("simulate plan.json --simulator flow", "simulate plan.json --fail-link 0-1@1ms:5ms"),
        "topology": (
            "topology --servers 16 --degree 4",
            "topology --servers 16 --degree 4 --out wiring.json",
        ),
        "collective": (
            "collective --accelerator h100 --accelerators 64 --op allreduce --bytes 1GB",
            "collective --servers 16 --degree 4 --op all-gather --bytes 100MB",
        ),
        "traffic": ("traffic vgg16 --servers 8", "traffic plan.json --matrix matrix.csv"),
        "llm search": (
            "llm search llama3-70b --accelerators 64",
            "llm search llama3-70b --accelerators 64 --tp 8",
        ),
        "llm estimate": ("llm estimate llama3-70b --accelerators 64 --tp 8 --pp 4",),
        "llm traffic": ("llm traffic llama3-8b --accelerators 16 --tp 8",),
        "llm calibrate": ("llm calibrate runs.csv --out mine.toml",),
        "finetune": ("finetune llama3-8b --accelerators 8", "finetune llama3-8b --accelerators 8 --full"),
        "rl": ("rl qwen3-8b --accelerators 16 --prompts 64 --samples 8",),
        "serving": (
            "serving llama3-8b --accelerators 2 --rate 4 --isl 512 --osl 128 --duration 1min",
            "serving llama3-8b --accelerators 2 --slo-ttft 1s --slo-tpot 50ms",
        ),
        "choose": (
            "choose vgg16:0.7 dlrm:0.3 --servers 4 --degrees 2,4 --bandwidths 100Gbps --proposals 100",
        ),
        "cost": ("cost --servers 128 --degree 8 --bandwidth 400Gbps", "cost plan.json --bill all"),
        "sweep": ("sweep sweep.yaml --out results.duckdb",),
        "results": ("results results.duckdb", "results results.duckdb --columns fabric,iteration_time_s"),
        "cluster run": (
            "cluster run trace.csv --servers 16",
            "cluster run --generate --jobs 4 --servers 16 --fabrics topoopt,rail",
        ),
        "fail": ("fail plan.json --link 0-1", "fail plan.json --server 3"),
        "interleave": ("interleave vgg16.json vgg16.json --capacity 100Gbps",),
        "phases": ("phases plan.json --out vgg16.json",),
        "mltcp simulate": ("mltcp simulate --communication 0.4",),
        "verify": ("verify plan.json",),
        "rewire": ("rewire plan.json other.json",),
        "export": ("export plan.json --out deployment",),
        "profile": ("profile vgg16 --dry-run",),
        "testbed up": ("testbed up plan.json",),
        "testbed run": ("testbed run plan.json",),
        "testbed share": ("testbed share vgg16.json vgg16.json",),
        "testbed status": ("testbed status",),
        "testbed down": ("testbed down",),
        "studio": ("studio llama3-70b --servers 32", "studio llama3-70b --json"),
        "report": ("report plan.json --out report.html",),
        "models": ("models", "models llama3-70b"),
        "hardware": ("hardware accelerators", "hardware h100"),
        "doctor": ("doctor",),
        "reproduce": ("reproduce list", "reproduce table1"),
    }
)
"""Commands that the help of a verb shows; the tests run them."""
