"""Transformers: their shapes, the sources of shapes, and quantities derived from shapes alone."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.workloads.transformer.adapters import ADAPTERS as ADAPTERS
    from topoopt.workloads.transformer.adapters import EVERYWHERE as EVERYWHERE
    from topoopt.workloads.transformer.adapters import AdapterParameters as AdapterParameters
    from topoopt.workloads.transformer.adapters import adapter_parameters as adapter_parameters
    from topoopt.workloads.transformer.config import FAMILIES as FAMILIES
    from topoopt.workloads.transformer.config import config_to_model as config_to_model
    from topoopt.workloads.transformer.config import read_config as read_config
    from topoopt.workloads.transformer.model import Experts as Experts
    from topoopt.workloads.transformer.model import Indexer as Indexer
    from topoopt.workloads.transformer.model import LatentAttention as LatentAttention
    from topoopt.workloads.transformer.model import Recurrence as Recurrence
    from topoopt.workloads.transformer.model import TransformerModel as TransformerModel
    from topoopt.workloads.transformer.parameters import ForwardFlops as ForwardFlops
    from topoopt.workloads.transformer.parameters import LayerFlops as LayerFlops
    from topoopt.workloads.transformer.parameters import LayerKind as LayerKind
    from topoopt.workloads.transformer.parameters import LayerParameters as LayerParameters
    from topoopt.workloads.transformer.parameters import ParameterCount as ParameterCount
    from topoopt.workloads.transformer.parameters import count_parameters as count_parameters
    from topoopt.workloads.transformer.parameters import forward_flops as forward_flops
    from topoopt.workloads.transformer.parameters import layer_flops as layer_flops
    from topoopt.workloads.transformer.parameters import layer_kinds as layer_kinds
    from topoopt.workloads.transformer.parameters import layer_parameters as layer_parameters
    from topoopt.workloads.transformer.zoo import TRANSFORMERS as TRANSFORMERS
    from topoopt.workloads.transformer.zoo import ListedTransformer as ListedTransformer
    from topoopt.workloads.transformer.zoo import Shapes as Shapes
    from topoopt.workloads.transformer.zoo import TransformerEntry as TransformerEntry
    from topoopt.workloads.transformer.zoo import changed_model as changed_model
    from topoopt.workloads.transformer.zoo import find_transformer as find_transformer
    from topoopt.workloads.transformer.zoo import is_transformer as is_transformer
    from topoopt.workloads.transformer.zoo import listed_transformers as listed_transformers
    from topoopt.workloads.transformer.zoo import model_of_shapes as model_of_shapes

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
