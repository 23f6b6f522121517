"""Recommenders: DLRM (embedding tables and perceptrons) and NCF (matrix factorization beside a perceptron)."""

from dataclasses import dataclass

from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.layers import append, concat, dense, embedding, multiply
from topoopt.workloads.zoo.model_entry import ModelEntry, check_integers, published_variants


@dataclass(frozen=True, slots=True)
class NcfParameters:
    """Hyper-parameters of neural collaborative filtering; defaults are the authors' for 128 servers.

    Attributes
    ----------
    batch_per_accelerator : int
        Samples per accelerator and iteration.
    tables : int
        User tables and as many item tables, once for the factors and once for the perceptron: four times
        this number in all.
    user_rows, item_rows, bag : int
        Rows of each table; rows that one sample sums.
    factors, dim : int
        Columns of the factorization's tables and of the perceptron's tables.
    top_layers, top_width : int
        Dense layers of the perceptron.
    """

    batch_per_accelerator: int = 128
    tables: int = 32
    user_rows: int = 1_000_000
    item_rows: int = 1_000_000
    bag: int = 100
    factors: int = 64
    dim: int = 128
    top_layers: int = 7
    top_width: int = 4096

    def __post_init__(self) -> None:
        check_integers(self)


def ncf(name: str, p: NcfParameters) -> OperatorGraph:
    """Return NCF as an operator graph.

    The layer that ends the factorization has no bias.

    References
    ----------
    .. [1] X. He et al., "Neural Collaborative Filtering", WWW 2017.
    """
    ops: list[Operator] = []

    def tables(side: str, rows: int, dim: int) -> list[int]:
        return [append(ops, embedding(f"{side}_{i}", rows, dim, p.bag)) for i in range(p.tables)]

    user_factors = tables("user_factors", p.user_rows, p.factors)
    item_factors = tables("item_factors", p.item_rows, p.factors)
    inputs = tables("user_table", p.user_rows, p.dim) + tables("item_table", p.item_rows, p.dim)

    factors_width = p.tables * p.factors
    users = append(ops, concat("user_concat", user_factors, factors_width))
    items = append(ops, concat("item_concat", item_factors, factors_width))
    product = append(ops, multiply("factors", (users, items), factors_width))
    score = append(ops, dense("factors_head", (product,), factors_width, 1, bias=False))

    width = 2 * p.tables * p.dim
    last = append(ops, concat("concat", inputs, width))
    for i in range(p.top_layers):
        last = append(ops, dense(f"top_{i}", (last,), width, p.top_width))
        width = p.top_width
    both = append(ops, concat("both", (last, score), width + 1))
    append(ops, dense("head", (both,), width + 1, 1))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


NCF = ModelEntry(
    "NCF",
    "recommendation: many small placed tables, matrix factorization beside a perceptron",
    ncf,
    published_variants("ncf", NcfParameters),
)


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
