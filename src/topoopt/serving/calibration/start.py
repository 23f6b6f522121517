"""Where fits begin: constants by the size that each has in experience, before any run is looked at."""

from topoopt.serving.step.constants import Constants

START = Constants(
    dense_memory=0.8,
    expert_memory=0.7,
    cache_memory=0.6,
    dense_compute=0.55,
    expert_compute=0.35,
    pair_compute=0.4,
    decode_compute=0.8,
    link=0.5,
    network=0.5,
    reduce_s=6e-6,
    reduce_double_s=1.5e-6,
    network_reduce_s=15e-6,
    exchange_s=12e-6,
    layer_s=15e-6,
    step_s=5e-4,
    request_s=8e-6,
    prompt_layer_s=2e-4,
    prompt_step_s=8e-3,
    interference=0.8,
    wave=0.1,
    queue=1.0,
    batch_share=0.8,
)
