"""TransformerModel: the shapes of a transformer."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A layer's recurrence: each head keeps a matrix of ``head_dim`` by ``key_dim``; every token changes and reads it.

    One noun for Mamba-2 (Dao and Gu 2024: heads, state size, groups), gated DeltaNet (Yang et al. 2024), Kimi Delta
    Attention and lightning attention (MiniMax-01): they differ in the projections of a token.

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
        Tokens per chunk in the common implementation, by matrix products.
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
        """Return all parameters of a layer's recurrence, and those replicated on every tensor-parallel rank."""
        taps = self.convolved * ((self.convolution > 0) * self.convolution_bias + self.convolution)
        decays = self.inner * (self.gate_rank > 0)
        norm = self.inner if self.wide_norm else self.head_dim
        biases = self.bias * (self.projected + hidden)
        own = taps + decays + self.head_parameters * self.heads + norm + biases
        whole = norm * (not self.wide_norm) + hidden * self.bias + 2 * hidden * self.gate_rank
        return self.projection_weights(hidden) + own, whole


LARGEST, MOST_LAYERS = 10**9, 10**5
"""Sizes beyond these are slips of the keyboard, and would not fit into integers of 64 bits when multiplied."""


@dataclass(frozen=True, slots=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, section 2.1): queries and keys/values go through small ranks.

    ``query_rank`` 0: queries are projected directly, as in DeepSeek-V2-Lite.
    """

    query_rank: int
    key_value_rank: int
    rope_head_dim: int
    nope_head_dim: int
    value_head_dim: int


@dataclass(frozen=True, slots=True)
class Indexer:
    """Selector of the tokens that sparse attention looks at (DeepSeek-V3.2): its small heads see all tokens.

    The number of tokens selected is the model's ``window``.
    """

    heads: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class Experts:
    """The mixture-of-experts part of a model.

    Attributes
    ----------
    count, per_token : int
        Routed experts of a layer, and to how many of them a token goes (top-k).
    ffn : int
        Inner size of one routed expert.
    shared_ffn : int
        Inner size of all shared experts together, which every token visits; 0 for none.
    first_dense_layers : int
        Layers at the beginning that have a dense feed-forward part instead.
    every : int
        Interval of layers with experts among the following layers.
    capacity_factor : float
        Tokens that an expert takes at most, over the even share; 0 for no limit (dropless).
    router_bias : bool
        Whether the router has a bias of one number for each expert.
    shared_gate : bool
        Whether a gate of the hidden size scales the shared experts' output (Qwen).
    route_groups, groups_per_token : int
        Equal groups of experts, and most groups that a token's experts are in (group-limited, or node-limited routing:
        DeepSeek-V2, section 2.2.2); 0 for no limit.
    width : int
        Size to which tokens are projected before they go to routed experts, and from which back behind them
        (Nemotron 3 Super); 0 for the hidden size.
    """

    count: int
    per_token: int
    ffn: int
    shared_ffn: int = 0
    first_dense_layers: int = 0
    every: int = 1
    capacity_factor: float = 0.0
    router_bias: bool = False
    shared_gate: bool = False
    route_groups: int = 0
    groups_per_token: int = 0
    width: int = 0

    def __post_init__(self) -> None:
        if max(self.count, self.ffn, self.shared_ffn) > LARGEST or self.ffn < 1:
            raise InvalidInput(
                f"experts: expected numbers of 1..{LARGEST}, got {self.count} of size {self.ffn} and shared ones of "
                f"size {self.shared_ffn}"
            )
        if not 1 <= self.per_token <= self.count:
            raise InvalidInput(
                f"experts: a token goes to 1..{self.count} of {self.count} experts, got {self.per_token}"
            )
        self._check_groups()

    def _check_groups(self) -> None:
        groups, limit = self.route_groups, self.groups_per_token
        if not (groups or limit):
            return
        if groups < 1 or self.count % groups:
            raise InvalidInput(
                f"route_groups {groups}: does not divide {self.count} experts; 0 for routing without groups"
            )
        if not 1 <= limit <= groups or limit * (self.count // groups) < self.per_token:
            raise InvalidInput(
                f"groups_per_token {limit}: {self.per_token} experts of a token need 1..{groups} groups of "
                f"{self.count // groups}"
            )


@dataclass(frozen=True, slots=True)
class TransformerModel:
    """A transformer by its shapes.

    Attributes
    ----------
    name, family : str
        ``family`` is the ``model_type`` of Hugging Face where there is one, such as ``llama``.
    layers, hidden, heads : int
    ffn : int
        Inner size of a dense feed-forward part.
    vocabulary, sequence : int
        ``sequence`` is the longest, or the published training length.
    kv_heads : int
        Heads of keys and values; fewer than ``heads`` is grouped-query attention.
    head_dim : int
        Mostly ``hidden / heads``.
    gated : bool
        A feed-forward part of three matrices (SwiGLU) instead of two.
    tied : bool
        Whether the output layer shares the weights of the embedding.
    positions : int
        Rows of a learned position embedding; 0 for rotary positions or ALiBi.
    norm : str
        ``layernorm``, with a weight and a bias of the hidden size; ``rmsnorm`` or ``layernorm-without-bias``, with a
        weight.
    attention_bias, output_bias, mlp_bias : bool
        Whether the projections to queries, keys and values, the output projection, and the feed-forward
        matrices have biases.
    extra_parameters : int
        Parameters outside of all of these and outside the layers: poolers, type embeddings …
    latent : LatentAttention or None
    experts : Experts or None
    norms_per_layer : int
        2, before attention and before the feed-forward part; 1 where both share one.
    head_norms : bool
        Whether each layer normalizes its query and key heads (Qwen 3).
    attention_sinks : bool
        Whether each head has a learned sink (gpt-oss).
    window : int
        Tokens that a layer of sliding-window attention sees; 0 where every layer sees all.
    window_layers : int
        Layers with such a window.
    chunked : bool
        Whether windows are chunks that do not slide: a token sees its own chunk only (Llama 4).
    attention_gate : bool
        Whether queries come with a gate of their size on attention's output (Qwen3-Next).
    wide_head_norms : bool
        Whether all query heads are normalized together, and all key heads (OLMo 2).
    indexer : Indexer or None
    recurrence : Recurrence or None
    mixers : str
        A character for each layer, repeated if there are fewer: ``*`` attention, ``M`` the recurrence, ``.`` neither.
        Empty: attention in all of them.
    feed_forwards : str
        Likewise: ``-`` dense, ``E`` experts, ``.`` none. Empty: as in ``experts``.
    mtp_layers : int
        Modules behind the last layer that predict one further token each: a projection, a layer like the last one, and
        the output layer once more (multi-token prediction; DeepSeek-V3, section 2.2). Not among ``layers``, nor counted
        among the model's parameters.
    """

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    sequence: int
    kv_heads: int
    head_dim: int
    gated: bool = False
    tied: bool = False
    positions: int = 0
    norm: str = "rmsnorm"
    attention_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    extra_parameters: int = 0
    latent: LatentAttention | None = None
    experts: Experts | None = None
    norms_per_layer: int = 2
    head_norms: bool = False
    attention_sinks: bool = False
    window: int = 0
    window_layers: int = 0
    chunked: bool = False
    attention_gate: bool = False
    wide_head_norms: bool = False
    indexer: Indexer | None = None
    recurrence: Recurrence | None = None
    mixers: str = ""
    feed_forwards: str = ""
    mtp_layers: int = 0

    def __post_init__(self) -> None:
        for key in ("layers", "hidden", "heads", "vocabulary", "sequence", "kv_heads", "head_dim"):
            value, most = getattr(self, key), MOST_LAYERS if key == "layers" else LARGEST
            if value < 1:
                raise InvalidInput(f"{self.name}: {key}: expected an integer >= 1, got {value}")
            if value > most:
                raise InvalidInput(f"{self.name}: {key}: expected an integer <= {most}, got {value}")
        if not 0 <= self.ffn <= LARGEST:
            raise InvalidInput(f"{self.name}: ffn: expected an integer 0..{LARGEST}, got {self.ffn}")
        self._check_patterns()
        if not 0 <= self.window_layers <= self.attention_layers:
            raise InvalidInput(
                f"{self.name}: window_layers: expected 0..{self.attention_layers} of its layers, got "
                f"{self.window_layers}"
            )
        if not 0 <= self.mtp_layers <= self.layers:
            raise InvalidInput(f"{self.name}: mtp_layers: expected 0..{self.layers}, got {self.mtp_layers}")
        if self.heads % self.kv_heads:
            raise InvalidInput(
                f"{self.name}: kv_heads: {self.heads} heads cannot be shared by {self.kv_heads} evenly"
            )

    @property
    def norm_parameters(self) -> int:
        """Parameters of one norm."""
        return self.hidden * (2 if self.norm == "layernorm" else 1)

    @property
    def head_widths(self) -> tuple[int, int]:
        """Channels of a head's keys and of its values; latent ones are expanded."""
        latent = self.latent
        if latent is None:
            return self.head_dim, self.head_dim
        return latent.nope_head_dim + latent.rope_head_dim, latent.value_head_dim

    @property
    def is_uniform(self) -> bool:
        """Whether layers differ by their experts and windows only."""
        return len(set(self.mixers)) < 2 and len(set(self.feed_forwards)) < 2

    @property
    def attention_layers(self) -> int:
        """Number of layers with attention."""
        return self._count(self.mixers, "*") if self.mixers else self.layers

    @property
    def recurrent_layers(self) -> int:
        """Number of layers with the recurrence."""
        return self._count(self.mixers, "M")

    @property
    def moe_layers(self) -> int:
        """Number of layers with experts."""
        experts = self.experts
        if self.feed_forwards:
            return self._count(self.feed_forwards, "E")
        if experts is None:
            return 0
        return len(range(experts.first_dense_layers + experts.every - 1, self.layers, experts.every))

    @property
    def dense_layers(self) -> int:
        """Number of layers with a dense feed-forward part."""
        return self._count(self.feed_forwards, "-") if self.feed_forwards else self.layers - self.moe_layers

    @property
    def has_dense_layers(self) -> bool:
        """Whether any layer has a dense feed-forward part."""
        return self.dense_layers > 0

    def mixer(self, layer: int) -> str:
        """Return the token mixer of a layer, counted from 0: ``*``, ``M`` or ``.``."""
        return self.mixers[layer % len(self.mixers)] if self.mixers else "*"

    def feed_forward(self, layer: int) -> str:
        """Return the feed-forward part of a layer, counted from 0: ``-``, ``E`` or ``.``."""
        if self.feed_forwards:
            return self.feed_forwards[layer % len(self.feed_forwards)]
        experts = self.experts
        if experts is None or layer < experts.first_dense_layers:
            return "-"
        return "E" if (layer - experts.first_dense_layers) % experts.every == experts.every - 1 else "-"

    def is_moe(self, layer: int) -> bool:
        """Return whether a layer, counted from 0, has experts."""
        return self.feed_forward(layer) == "E"

    def _count(self, pattern: str, kind: str) -> int:
        if not pattern:
            return 0
        whole, rest = divmod(self.layers, len(pattern))
        return whole * pattern.count(kind) + pattern[:rest].count(kind)

    def _check_patterns(self) -> None:
        for key, known in (("mixers", "*M."), ("feed_forwards", "-E.")):
            strange = set(getattr(self, key)) - set(known)
            if strange:
                raise InvalidInput(f"{self.name}: {key}: expected only {known}, got {min(strange)!r}")
        if self.recurrent_layers and self.recurrence is None:
            raise InvalidInput(f"{self.name}: mixers: layers of a recurrence (M), and the model has none")
        if self.feed_forwards and self.moe_layers and self.experts is None:
            raise InvalidInput(f"{self.name}: feed_forwards: layers of experts (E), and the model has none")
