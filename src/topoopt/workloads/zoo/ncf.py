"""NCF: matrix factorization and a perceptron side by side, over many user and item tables."""

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
