"""The BERT family as published, and the authors' BERT-like transformer of encoder and decoder blocks."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.layers import add, append, attention, dense, lookup
from topoopt.workloads.zoo.model_entry import ModelEntry, check_integers, published_variants


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
