"""CANDLE Uno: a tower of dense layers for each feature, concatenated into a deep dense trunk."""

from dataclasses import dataclass

from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.layers import append, concat, dense
from topoopt.workloads.zoo.model_entry import ModelEntry, check_integers, published_variants


@dataclass(frozen=True, slots=True)
class CandleParameters:
    """Hyper-parameters of CANDLE Uno; defaults are the authors' for dedicated jobs of 128 servers.

    Attributes
    ----------
    batch_per_accelerator : int
        Samples per accelerator and iteration.
    feature_inputs : tuple of int
        Width of each tower's input: RNA sequence, and descriptors and fingerprints of two drugs.
    doses : int
        Scalar inputs that go straight into the concatenation.
    feature_layers, width : int
        Dense layers of a tower; width of every layer.
    dense_layers : int
        Dense layers of the trunk before the two last ones, of one output each.
    """

    batch_per_accelerator: int = 256
    feature_inputs: tuple[int, ...] = (942, 5270, 2048, 5270, 2048)
    doses: int = 2
    feature_layers: int = 16
    width: int = 16384
    dense_layers: int = 8

    def __post_init__(self) -> None:
        check_integers(self, zero_allowed=("doses",))


def candle(name: str, p: CandleParameters) -> OperatorGraph:
    """Return CANDLE Uno as an operator graph.

    References
    ----------
    .. [1] F. Xia et al., "Predicting tumor cell line response to drug pairs with deep learning", BMC
           Bioinformatics 19, 2018 (the Uno network of the CANDLE benchmarks).
    """
    ops: list[Operator] = []
    towers = []
    for tower, width in enumerate(p.feature_inputs):
        last = append(ops, dense(f"tower_{tower}_0", (), width, p.width))
        for i in range(1, p.feature_layers):
            last = append(ops, dense(f"tower_{tower}_{i}", (last,), p.width, p.width))
        towers.append(last)
    width = len(towers) * p.width + p.doses
    last = append(ops, concat("concat", towers, width))
    for i in range(p.dense_layers):
        last = append(ops, dense(f"trunk_{i}", (last,), width, p.width))
        width = p.width
    last = append(ops, dense(f"trunk_{p.dense_layers}", (last,), width, 1))
    append(ops, dense("growth", (last,), 1, 1))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


CANDLE = ModelEntry(
    "CANDLE Uno",
    "drug response: five dense towers and a dense trunk, heavy in parameters",
    candle,
    published_variants("candle", CandleParameters),
)
