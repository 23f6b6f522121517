"""The BERT family: tables of tokens and positions, layers of an encoder, and a dense layer that is fine-tuned."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.hyperparameters import check_integers
from topoopt.workloads.zoo.layers import add, append, attention, dense, lookup
from topoopt.workloads.zoo.model_entry import ModelEntry, published_variants


@dataclass(frozen=True, slots=True)
class EncoderParameters:
    """Hyper-parameters of an encoder; defaults are those of BERT's base model.

    Attributes
    ----------
    batch_per_accelerator : int
        Sequences per accelerator and iteration.
    blocks, hidden, heads, feed_forward : int
        Layers, their width, attention heads, width inside the feed-forward part.
    vocabulary, positions : int
        Rows of the two tables.
    sequence : int
        Tokens of a sequence.
    """

    batch_per_accelerator: int = 8
    blocks: int = 12
    hidden: int = 768
    heads: int = 12
    feed_forward: int = 3072
    vocabulary: int = 30522
    positions: int = 512
    sequence: int = 512

    def __post_init__(self) -> None:
        check_integers(self)
        if self.hidden % self.heads:
            raise InvalidInput(f"hidden {self.hidden} must be a multiple of heads {self.heads}")
        if self.sequence > self.positions:
            raise InvalidInput(f"sequence {self.sequence} must be at most positions {self.positions}")


def encoder(name: str, p: EncoderParameters) -> OperatorGraph:
    """Return the encoder as an operator graph.

    Norms and the biases of attention are left out (0.1 % of the parameters). The tables are replicated and AllReduced
    like everything else: there is nothing that a server would hold alone.

    References
    ----------
    .. [1] J. Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language
           Understanding", NAACL 2019.
    """
    ops: list[Operator] = []
    elements = p.sequence * p.hidden
    tokens = append(ops, lookup("tokens", (), p.vocabulary, p.hidden, p.sequence))
    places = append(ops, lookup("positions", (), p.positions, p.hidden, p.sequence))
    last = append(ops, add("embedded", (tokens, places), elements))
    for block in range(p.blocks):
        here = f"block_{block}"
        attended = append(
            ops, attention(f"{here}.attention", (last,), (last,), p.hidden, p.heads, p.sequence)
        )
        last = append(ops, add(f"{here}.attention_add", (last, attended), elements))
        wide = append(ops, dense(f"{here}.wide", (last,), p.hidden, p.feed_forward, positions=p.sequence))
        narrow = append(ops, dense(f"{here}.narrow", (wide,), p.feed_forward, p.hidden, positions=p.sequence))
        last = append(ops, add(f"{here}.add", (last, narrow), elements))
    append(ops, dense("head", (last,), p.hidden, p.hidden, positions=p.sequence))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


ENCODER = ModelEntry(
    "BERT family",
    "language: tables of tokens, layers of an encoder, a head to fine-tune",
    encoder,
    published_variants("encoder", EncoderParameters),
)
