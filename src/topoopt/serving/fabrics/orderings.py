"""What others have published of networks for serving, asked of this program: orderings, gains, a known deployment."""

from dataclasses import dataclass

import numpy as np

from topoopt.cost import OwnershipTerms, pricing_of, server_price, usual_running
from topoopt.hardware import ClusterSpec
from topoopt.serving.deployment import Deployment, EngineSettings, Parallelism, Pool
from topoopt.serving.fabrics.answer import ServingComparison
from topoopt.serving.fabrics.compare import compare_serving
from topoopt.serving.fabrics.compared import Priced
from topoopt.serving.fabrics.deployments import Contender
from topoopt.serving.fabrics.on_fabric import FabricQuestion
from topoopt.serving.fabrics.prepared import ServingStack
from topoopt.serving.network.load import RequestLoad
from topoopt.transformer import find_transformer

_BATCH = 256
_FORMATS = EngineSettings("fp8")


@dataclass(frozen=True, slots=True)
class PublishedOrdering:
    """A published figure beside ours.

    Attributes
    ----------
    what, unit : str
    ours, low, high : float
        Ours, and the ends of what is published.
    origin : str
    explanation : str
        Why they differ, where they do.
    """

    what: str
    unit: str
    ours: float
    low: float
    high: float
    origin: str
    explanation: str


def published_orderings() -> tuple[PublishedOrdering, ...]:
    """Return what is published of networks for serving, with our own figures beside it."""
    return (*_switchless(), *_aware_routers(), *_deepseek())


def _asked(
    model: str,
    cluster: ClusterSpec,
    load: RequestLoad,
    objectives_s: tuple[float, float],
    fabrics: tuple[str, ...],
    given: Deployment | None = None,
    pairing: tuple[str, ...] = ("any", "network-aware", "neighbors"),
) -> ServingComparison:
    terms = OwnershipTerms(
        usual_running({}), server_price(cluster.accelerator, cluster.accelerators_per_server)
    )
    return compare_serving(
        find_transformer(model),
        FabricQuestion(cluster, load, *objectives_s, pairing),
        _FORMATS,
        fabrics,
        Priced(pricing_of(), terms),
        ServingStack(),
        (Contender(float("inf"), given),) if given else _BATCH,
        lambda stage, done, total: None,
    )


def _switchless() -> list[PublishedOrdering]:
    """Return how many more tokens a dollar of network brings without switches, for a mixture of experts."""
    cluster = ClusterSpec(8, 8, 400e9, 8, "h100")
    names = ("ideal-switch", "full-mesh", "topoopt")
    answer = _asked("deepseek-v3", cluster, RequestLoad(0, 4096, 512), (2.0, 0.05), names)
    rows = {row.name: row for row in answer.fabrics}
    dollars = {name: row.usd_per_million_tokens or float("nan") for name, row in rows.items()}
    found = []
    for name in names[1:]:
        found.append(
            PublishedOrdering(
                f"tokens a dollar, {name} over a switch, DeepSeek-V3 on 64 H100",
                "%",
                100 * (dollars[names[0]] / dollars[name] - 1),
                20.6,
                56.2,
                "arXiv 2605.00254",
                "there the switches are those of scale-up domains, whose price is most of a network; here accelerators "
                "of a server stay joined, the switches are Ethernet's, and servers are paid for, too",
            )
        )
    return found


def _aware_routers() -> list[PublishedOrdering]:
    """Return what a router that knows the network takes off the first token: on 64 accelerators, and on two servers."""
    tp8 = Parallelism(tensor=8)
    found = []
    for servers, low, high in ((8, -21.0, 0.0), (2, 0.0, 0.0)):
        half = servers // 2
        given = Deployment("disaggregated", Pool(tp8, half), Pool(tp8, half), _FORMATS)
        cluster = ClusterSpec(servers, 2, 100e9, 8, "h100")
        load = RequestLoad(1.75 * half / 2, 16384, 512)
        ttft_s = [
            _asked("llama3-70b", cluster, load, (60.0, 1.0), ("torus",), given, (name,))
            .fabrics[0]
            .on.expected.ttft_s
            for name in ("any", "network-aware")
        ]
        found.append(
            PublishedOrdering(
                f"mean first token, choosing decode by the network, {servers} servers",
                "%",
                100 * (ttft_s[1] / ttft_s[0] - 1),
                low,
                high,
                "arXiv 2606.03910 (64 GPUs, at best); llm-d-router #2315 (two nodes)",
                "on rings of 2 x 100 Gb/s at three quarters of their rate; what there is to gain is a matter of load"
                if servers > 2
                else "",
            )
        )
    return found


def _deepseek() -> list[PublishedOrdering]:
    """Return what a server of DeepSeek's deployment reads and answers: prefill on 4 servers, decode on 18."""
    given = Deployment(
        "disaggregated",
        Pool(Parallelism(1, 1, 144, 144), 1, 256 * 144),
        Pool(Parallelism(1, 1, 32, 32)),
        _FORMATS,
    )
    cluster = ClusterSpec(22, 8, 400e9, 8, "h800")
    context, share = 4989.0, 168 / 608  # tokens of caches; of answers over those of prompts
    prompt = context / (1 + share / 2)
    load = RequestLoad(1.0, prompt, share * prompt)
    row = _asked("deepseek-v3", cluster, load, (60.0, 1.0), ("rail",), given).fabrics[0]
    reads = prompt * 32 / row.on.expected.prompt_s / 4
    batches = 144.0 * np.arange(1, 257)
    quiet = np.zeros_like(row.on.reach.busy)
    step_s = np.array(
        [
            row.laws.decode.decode_s(one, one * context) + row.on.reach.decode.step_s(one, quiet)
            for one in batches.tolist()
        ]
    )
    answers = float((batches / step_s)[step_s <= 0.05].max(initial=0.0)) / 18
    origin = "DeepSeek, inference system overview, 2025: H800, FP8"
    return [
        PublishedOrdering(
            "tokens a second that a server of prefill reads, EP32",
            "tokens/s",
            reads,
            32_200,
            62_700,
            origin,
            "ours are the step times of public engines, prompts of equal length without waiting; published are a day's "
            "average and a profile of an engine that hides what it sends behind another half of the batch",
        ),
        PublishedOrdering(
            "tokens a second that a server of decode answers, EP144, at 50 ms a token",
            "tokens/s",
            answers,
            14_800,
            18_600,
            origin,
            "batches overlap there in two halves, and two tokens are predicted at a time in the profile; the step "
            "times are those of the mean engine",
        ),
    ]
