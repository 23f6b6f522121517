"""The authors' BERT-like transformer: blocks of an encoder and a decoder layer, no embedding, no wide FFN."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.hyperparameters import check_integers
from topoopt.workloads.zoo.layers import add, append, attention, dense
from topoopt.workloads.zoo.model_entry import ModelEntry, published_variants


@dataclass(frozen=True, slots=True)
class BertParameters:
    """Hyper-parameters of the transformer; defaults are the authors' for dedicated jobs of 128 servers.

    Attributes
    ----------
    batch_per_accelerator : int
        Sequences per accelerator and iteration.
    blocks : int
        Blocks of one encoder and one decoder layer: three attentions, three additions, four dense layers.
    hidden, heads, sequence : int
        Hidden size, attention heads, tokens of a sequence.
    """

    batch_per_accelerator: int = 16
    blocks: int = 12
    hidden: int = 1024
    heads: int = 16
    sequence: int = 64

    def __post_init__(self) -> None:
        check_integers(self)
        if self.hidden % self.heads:
            raise InvalidInput(f"hidden {self.hidden} must be a multiple of heads {self.heads}")


def bert(name: str, p: BertParameters) -> OperatorGraph:
    """Return the transformer as an operator graph.

    An attention's four projections are one tensor, as in FlexFlow, so a block has 3 + 4·2 tensors; with the
    last layer's two, the 12 blocks have 134.
    """
    ops: list[Operator] = []
    encoded: tuple[int, ...] = ()
    decoded: tuple[int, ...] = ()
    for b in range(p.blocks):
        encoded = _attend(ops, p, f"block_{b}.encoder", encoded, encoded)
        encoded = _feed_forward(ops, p, f"block_{b}.encoder", encoded)
        decoded = _attend(ops, p, f"block_{b}.decoder", decoded, decoded)
        decoded = _attend(ops, p, f"block_{b}.cross", decoded, encoded)
        decoded = _feed_forward(ops, p, f"block_{b}.decoder", decoded)
    append(ops, dense("last", decoded, p.hidden, 1, positions=p.sequence))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


def _attend(
    ops: list[Operator], p: BertParameters, name: str, query: tuple[int, ...], memory: tuple[int, ...]
) -> tuple[int, ...]:
    heads = append(ops, attention(f"{name}.attention", query, memory, p.hidden, p.heads, p.sequence))
    return (append(ops, add(f"{name}.add", (heads, *query), p.sequence * p.hidden)),)


def _feed_forward(
    ops: list[Operator], p: BertParameters, name: str, source: tuple[int, ...]
) -> tuple[int, ...]:
    for i in range(2):
        op = dense(f"{name}.dense_{i}", source, p.hidden, p.hidden, positions=p.sequence)
        source = (append(ops, op),)
    return source


BERT = ModelEntry(
    "BERT-like transformer",
    "language: blocks of an encoder and a decoder layer",
    bert,
    published_variants("bert", BertParameters),
)
