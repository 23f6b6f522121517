"""The families of transformers by the ``model_type`` of their ``config.json``."""

from collections.abc import Callable, Mapping

from topoopt.transformer.config_fields import ConfigFields
from topoopt.transformer.families.bert import bert, roberta
from topoopt.transformer.families.deepseek import deepseek_v2, deepseek_v3, glm4_moe
from topoopt.transformer.families.falcon import falcon, mpt
from topoopt.transformer.families.gemma import gemma, gemma2, gemma3_text, phi3
from topoopt.transformer.families.gpt import bloom, gpt2, gpt_neox, gptj, nemotron, opt, starcoder2
from topoopt.transformer.families.gpt_oss import gpt_oss
from topoopt.transformer.families.llama import llama
from topoopt.transformer.families.mistral import mistral, mixtral
from topoopt.transformer.families.qwen import qwen2, qwen2_moe, qwen3, qwen3_moe
from topoopt.transformer.model import TransformerModel

FAMILIES: Mapping[str, Callable[[ConfigFields], TransformerModel]] = {
    "bert": bert,
    "bloom": bloom,
    "deepseek_v2": deepseek_v2,
    "deepseek_v3": deepseek_v3,
    "falcon": falcon,
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3_text": gemma3_text,
    "glm4_moe": glm4_moe,
    "gpt2": gpt2,
    "gpt_neox": gpt_neox,
    "gpt_oss": gpt_oss,
    "gptj": gptj,
    "granite": llama,
    "kimi_k2": deepseek_v3,
    "llama": llama,
    "mistral": mistral,
    "mixtral": mixtral,
    "mpt": mpt,
    "nemotron": nemotron,
    "opt": opt,
    "phi3": phi3,
    "qwen2": qwen2,
    "qwen2_moe": qwen2_moe,
    "qwen3": qwen3,
    "qwen3_moe": qwen3_moe,
    "roberta": roberta,
    "starcoder2": starcoder2,
}
"""How to read each family; a new one needs a function and a row."""
