"""DLRM: embedding tables and a bottom perceptron, concatenated into a top perceptron."""

from dataclasses import dataclass

from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.layers import append, concat, dense, embedding
from topoopt.workloads.zoo.model_entry import ModelEntry, check_integers, published_variants


@dataclass(frozen=True, slots=True)
class DlrmParameters:
    """Hyper-parameters of DLRM; defaults are the authors' for dedicated jobs of 128 servers.

    Attributes
    ----------
    batch_per_accelerator : int
        Samples per accelerator and iteration.
    tables, rows, dim, bag : int
        Number of embedding tables, rows and columns of each, rows that one sample sums.
    bottom_layers, bottom_width : int
        Square dense layers of the bottom perceptron; ``bottom_width`` is the width of the dense features too.
    bottom_output : int
        Width of the last bottom layer, 0 for ``bottom_width``.
    top_layers, top_width : int
        Dense layers of the top perceptron before the last one, which has one output.
    """

    batch_per_accelerator: int = 128
    tables: int = 64
    rows: int = 10_000_000
    dim: int = 128
    bag: int = 100
    bottom_layers: int = 7
    bottom_width: int = 2048
    bottom_output: int = 0
    top_layers: int = 15
    top_width: int = 4096

    def __post_init__(self) -> None:
        check_integers(self, zero_allowed=("bottom_output",))


def dlrm(name: str, p: DlrmParameters) -> OperatorGraph:
    """Return DLRM as an operator graph.

    References
    ----------
    .. [1] M. Naumov et al., "Deep Learning Recommendation Model for Personalization and Recommendation
           Systems", 2019.
    """
    ops: list[Operator] = []
    tables = [append(ops, embedding(f"table_{i}", p.rows, p.dim, p.bag)) for i in range(p.tables)]
    bottom_output = p.bottom_output or p.bottom_width
    last: tuple[int, ...] = ()
    for i in range(p.bottom_layers):
        out = bottom_output if i == p.bottom_layers - 1 else p.bottom_width
        last = (append(ops, dense(f"bottom_{i}", last, p.bottom_width, out)),)
    width = p.tables * p.dim + bottom_output
    last = (append(ops, concat("concat", (*tables, *last), width)),)
    for i in range(p.top_layers):
        last = (append(ops, dense(f"top_{i}", last, width, p.top_width)),)
        width = p.top_width
    append(ops, dense(f"top_{p.top_layers}", last, width, 1))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


DLRM = ModelEntry(
    "DLRM",
    "recommendation: placed embedding tables, dense perceptrons",
    dlrm,
    published_variants("dlrm", DlrmParameters),
)
