"""The noun Recurrence: what mixes tokens through a state of fixed size, as Mamba-2 and linear attention do."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A layer's recurrence: each head keeps a matrix of ``head_dim`` by ``key_dim``; every token changes and reads it.

    One noun for Mamba-2 (Dao and Gu 2024: heads, state size, groups), gated DeltaNet (Yang et al. 2024), Kimi Delta
    Attention and lightning attention (MiniMax-01): they differ in what is projected from a token.

    Attributes
    ----------
    heads, head_dim : int
        Heads of values, and the size of one.
    key_heads, key_dim : int
        Heads of keys and of queries (Mamba-2: groups), and the size of one (the size of the state).
    convolution : int
        Taps of the short convolution over queries, keys and values; 0 for none.
    convolution_bias, bias : bool
        Whether that has a bias, and whether the projections have.
    gate : bool
        Whether a gate as wide as all values is projected, too.
    gate_rank : int
        Gate and decay of each channel come through so small a rank instead (Kimi); 0 for none.
    scalars : int
        Numbers that a token gives each head: step (Mamba-2), decay and strength (gated DeltaNet), none (lightning).
    head_parameters : int
        Learned numbers of a head: 3 of Mamba-2, 2 of gated DeltaNet.
    wide_norm : bool
        Whether the norm behind it has a weight for each value of all heads, not of one.
    products : int
        Products of a token with the state: change and read, 2; with the delta rule, which reads before it changes, 3.
    chunk : int
        Tokens that the usual implementation takes at once, as matrix products.
    """

    heads: int
    head_dim: int
    key_heads: int
    key_dim: int
    convolution: int = 0
    convolution_bias: bool = False
    bias: bool = False
    gate: bool = True
    gate_rank: int = 0
    scalars: int = 0
    head_parameters: int = 0
    wide_norm: bool = False
    products: int = 2
    chunk: int = 64

    def __post_init__(self) -> None:
        for key in ("heads", "head_dim", "key_heads", "key_dim", "chunk"):
            if not 1 <= getattr(self, key) <= 10**6:
                raise InvalidInput(f"recurrence: {key}: expected 1..1000000, got {getattr(self, key)}")
        if self.heads % self.key_heads:
            raise InvalidInput(
                f"recurrence: key_heads: {self.heads} heads cannot be shared by {self.key_heads} evenly"
            )

    @property
    def inner(self) -> int:
        """Values of all heads."""
        return self.heads * self.head_dim

    @property
    def convolved(self) -> int:
        """Queries, keys and values together."""
        return self.inner + 2 * self.key_heads * self.key_dim

    @property
    def projected(self) -> int:
        """All that is projected from the hidden size of a token, but through small ranks."""
        return self.convolved + self.gate * self.inner + self.scalars * self.heads

    def projection_weights(self, hidden: int) -> int:
        """Return the entries of the matrices, without biases, norms and convolutions."""
        ranks = 2 * self.gate_rank * (hidden + self.inner)
        return hidden * (self.projected + self.inner) + ranks

    def parameters(self, hidden: int) -> tuple[int, int]:
        """Return all parameters of a layer's recurrence, and how many every tensor-parallel rank holds whole."""
        taps = self.convolved * ((self.convolution > 0) * self.convolution_bias + self.convolution)
        decays = self.inner * (self.gate_rank > 0)
        norm = self.inner if self.wide_norm else self.head_dim
        biases = self.bias * (self.projected + hidden)
        own = taps + decays + self.head_parameters * self.heads + norm + biases
        whole = norm * (not self.wide_norm) + hidden * self.bias + 2 * hidden * self.gate_rank
        return self.projection_weights(hidden) + own, whole
