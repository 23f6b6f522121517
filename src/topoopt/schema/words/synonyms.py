"""Names that other programs give to our arguments, and the name that each has here.

The command line takes a synonym of a flag for the flag; Python and job files name the argument in the error.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

SYNONYMS: Mapping[str, str] = MappingProxyType(
    {
        "accelerators": "gpus num_gpus n_gpus ngpus total_gpus num_accelerators world_size devices chips num_procs",
        "accelerator": "gpu gpu_type device chip hardware platform system machine",
        "accelerators_per_server": "gpus_per_node gpus_per_server num_gpus_per_node nproc_per_node",
        "servers": "nodes num_nodes nnodes hosts machines num_servers N",
        "degree": "ports nics ports_per_server nics_per_server nics_per_node",
        "degrees": "ports nics degree",
        "bandwidth": "nic_speed nic_bandwidth link_speed link_bandwidth speed bw network_bandwidth",
        "bandwidths": "nic_speed nic_bandwidth link_speed link_bandwidth speed bw bandwidth",
        "network_bandwidth": "nic_speed nic_bandwidth bandwidth bw",
        "fabrics": "fabric networks topologies",
        "fabric": "fabrics network networks topology topologies",
        "out": "o output save output_file",
        "tp": "tensor_parallel tensor_parallel_size tensor_model_parallel_size tp_size tensor_par",
        "pp": "pipeline_parallel pipeline_parallel_size pipeline_model_parallel_size pp_size pipeline_par",
        "dp": "data_parallel data_parallel_size dp_size data_par",
        "cp": "context_parallel context_parallel_size cp_size",
        "ep": "expert_parallel expert_parallel_size expert_model_parallel_size ep_size",
        "vpp": "virtual_pipeline_stages interleaving virtual_stages",
        "zero": "zero_stage",
        "micro_batch": "micro_batch_size mbs microbatch microbatch_size",
        "global_batch": "global_batch_size gbs",
        "batch_per_accelerator": "batch_per_gpu batch_size_per_gpu per_device_batch_size",
        "seq": "seq_len seq_length seqlen sequence_length context_length max_seq_len",
        "recompute": "recomputation recompute_granularity activation_checkpointing checkpointing",
        "precision": "dtype quantization",
        "bytes": "size message_size msg_size",
        "memory_share": "gpu_memory_utilization mem_fraction_static",
        "prefix_cache": "enable_prefix_caching",
        "max_batch": "max_num_seqs max_batch_size",
        "isl": "input_len input_length input_tokens prompt_length prompt_tokens",
        "osl": "output_len output_length output_tokens answer_tokens",
        "rate": "qps rps request_rate requests_per_second",
        "slo_ttft": "ttft",
        "slo_tpot": "tpot itl",
        "prices": "price_list",
        "electricity_price": "electricity power_price",
        "power_usage_effectiveness": "pue",
        "processes": "workers num_workers threads jobs j",
        "seed": "random_seed",
        "budget": "proposals",
        "budget_usd": "budget_dollars max_cost",
        "simulator": "fidelity",
    }
)
"""Names of other programs by our argument, with spaces between them."""


def known_as(name: str, known: Iterable[str]) -> str | None:
    """Return the known argument that another program calls by this name.

    Examples
    --------
    >>> known_as("gpus", ["accelerators", "servers"]), known_as("gpus", ["servers"])
    ('accelerators', None)
    """
    names = set(known)
    return next((ours for ours, others in SYNONYMS.items() if ours in names and name in others.split()), None)
