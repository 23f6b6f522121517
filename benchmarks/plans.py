"""Plans of large transformers, and a search: CPU seconds and memory of the whole program, kernels compiled."""

import resource
from collections.abc import Iterator

from benchmarks.figure import Figure, children_cpu_seconds
from benchmarks.program import topoopt

LARGE = ("llama3-405b", "--accelerators", "16384")
PLANS = {
    "plan, DeepSeek-V3 on 512": (("deepseek-v3", "--accelerators", "512"), 20),
    "plan, Llama-3-405B on 16,384, batch 2,048": ((*LARGE, "--global-batch", "2048"), 60),
}
SEARCH = ("llm", "search", "deepseek-v3", "--accelerators", "2048", "--schedule", "zero-bubble")


def figures() -> Iterator[Figure]:
    topoopt("plan", "llama3-8b", "--accelerators", "32")  # compile the kernels
    searching = children_cpu_seconds(lambda: topoopt(*SEARCH))
    yield Figure("search of a rare word, DeepSeek-V3 on 2,048", searching, "CPU s", 3)
    for name, (job, limit) in PLANS.items():
        yield Figure(name, _cpu_s(job), "CPU s", limit)
    yield Figure("memory of the larger one", _most_gb(), "GB", 2)
    # Of 1,024 micro-batches in 128 chunks three rounds of 64 are 3.9 million tasks.
    yield Figure("plan, Llama-3-405B on 16,384, batch 16,384", _cpu_s(LARGE), "CPU s", 60)
    yield Figure("memory of that", _most_gb(), "GB", 2)
    # Behind the others: memory is the most of all that ran so far.
    wide = ("dlrm", "--servers", "1024", "--degree", "4", "--bandwidth", "100Gbps")
    yield Figure("plan, DLRM on 1,024 servers, balanced routes and their gap", _cpu_s(wide), "CPU s", 75)
    yield Figure("memory of that", _most_gb(), "GB", 4)
    wider = ("dlrm", "--servers", "4096", "--degree", "4", "--bandwidth", "100Gbps")
    yield Figure("plan, DLRM on 4,096 servers, balanced routes and their gap", _cpu_s(wider), "CPU s", 300)
    yield Figure("memory of that", _most_gb(), "GB", 6.5)


def _cpu_s(job: tuple[str, ...]) -> float:
    return children_cpu_seconds(lambda: topoopt("plan", *job))


def _most_gb() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
