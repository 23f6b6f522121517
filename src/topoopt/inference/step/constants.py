"""The noun Constants: what the law of a step knows of an accelerator and an engine beside promised rates."""

from dataclasses import dataclass

from topoopt.base.arrays import Floats

Number = float | Floats


@dataclass(frozen=True, slots=True)
class Constants:
    """Fractions of promised rates, and seconds that an engine adds: floats, or columns (n,) of configurations.

    Attributes
    ----------
    dense_memory, expert_memory, cache_memory : fractions of the memory bandwidth
        That reading weights, experts and caches reaches.
    dense_compute, expert_compute, pair_compute : fractions of the peak rate
        That products of prompts, of experts, and of attention reach.
    decode_compute : fraction
        Of ``dense_compute`` that products of few tokens have.
    link, network : fractions of the bandwidth among a server's accelerators, and of the network's
    reduce_s, reduce_double_s : an AllReduce of nothing over two, and what each doubling adds
    network_reduce_s : what an AllReduce over servers adds for each doubling of servers
    exchange_s : an exchange of experts' inputs of nothing
    layer_s, step_s, request_s : what a decoding step adds for each layer, by itself, for each request
    prompt_layer_s, prompt_step_s : what a layer and a step take at least, and add, where prompts are read
    interference : share of a prompt's reading that requests which decode meanwhile feel
    wave : share of the clients of a closed loop whose prompts are read before one's own, on average
    queue : waiting behind other prompts over that of a queue of M/D/1
    batch_share : share of the memory for caches that requests fill when all come at once
    """

    dense_memory: Number
    expert_memory: Number
    cache_memory: Number
    dense_compute: Number
    expert_compute: Number
    pair_compute: Number
    decode_compute: Number
    link: Number
    network: Number
    reduce_s: Number
    reduce_double_s: Number
    network_reduce_s: Number
    exchange_s: Number
    layer_s: Number
    step_s: Number
    request_s: Number
    prompt_layer_s: Number
    prompt_step_s: Number
    interference: Number
    wave: Number
    queue: Number
    batch_share: Number
