"""The noun PublishedOrdering, and how what others have published is asked of this program."""

from dataclasses import dataclass

from topoopt.catalog import ClusterSpec
from topoopt.inference.deployment import Deployment, EngineSettings
from topoopt.inference.fabrics.answer import ServingComparison
from topoopt.inference.fabrics.compare import compare_serving
from topoopt.inference.fabrics.compared import Priced
from topoopt.inference.fabrics.deployments import Contender
from topoopt.inference.fabrics.on_fabric import FabricQuestion
from topoopt.inference.fabrics.prepared import ServingStack
from topoopt.inference.network.load import RequestLoad
from topoopt.pricing import OwnershipTerms, pricing_of, server_price, usual_running
from topoopt.workloads.transformer import find_transformer

_BATCH = 256


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


@dataclass(frozen=True, slots=True)
class Asked:
    """A deployment of a model, or a batch of each accelerator for deployments that are searched, and whose step times.

    Attributes
    ----------
    given : Deployment or None
    pairing : tuple of str
        Names of pairings that the router knows.
    engine : str
    """

    given: Deployment | None = None
    pairing: tuple[str, ...] = ("any", "network-aware", "neighbors")
    engine: str = ""


def asked(
    model: str,
    cluster: ClusterSpec,
    load: RequestLoad,
    objectives_s: tuple[float, float],
    fabrics: tuple[str, ...],
    how: Asked,
) -> ServingComparison:
    """Return the comparison of fabrics for a load, in the formats of 8 bits."""
    terms = OwnershipTerms(
        usual_running({}), server_price(cluster.accelerator, cluster.accelerators_per_server)
    )
    return compare_serving(
        find_transformer(model),
        FabricQuestion(cluster, load, *objectives_s, how.pairing),
        how.given.settings if how.given else EngineSettings("fp8"),
        fabrics,
        Priced(pricing_of(), terms),
        ServingStack(how.engine),
        (Contender(float("inf"), how.given),) if how.given else _BATCH,
        lambda stage, done, total: None,
    )
