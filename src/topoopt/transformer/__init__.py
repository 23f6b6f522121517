"""Transformers: their shapes, where those come from, and what follows from shapes alone."""

from topoopt.transformer.adapters import ADAPTERS as ADAPTERS
from topoopt.transformer.adapters import AdapterParameters as AdapterParameters
from topoopt.transformer.adapters import adapter_parameters as adapter_parameters
from topoopt.transformer.config import config_to_model as config_to_model
from topoopt.transformer.config import read_config as read_config
from topoopt.transformer.families import FAMILIES as FAMILIES
from topoopt.transformer.flops import ForwardFlops as ForwardFlops
from topoopt.transformer.flops import LayerFlops as LayerFlops
from topoopt.transformer.flops import forward_flops as forward_flops
from topoopt.transformer.flops import layer_flops as layer_flops
from topoopt.transformer.listed import ListedTransformer as ListedTransformer
from topoopt.transformer.listed import listed_transformers as listed_transformers
from topoopt.transformer.model import Experts as Experts
from topoopt.transformer.model import LatentAttention as LatentAttention
from topoopt.transformer.model import TransformerModel as TransformerModel
from topoopt.transformer.parameters import LayerParameters as LayerParameters
from topoopt.transformer.parameters import ParameterCount as ParameterCount
from topoopt.transformer.parameters import count_parameters as count_parameters
from topoopt.transformer.parameters import layer_parameters as layer_parameters
from topoopt.transformer.shapes import Shapes as Shapes
from topoopt.transformer.shapes import changed_model as changed_model
from topoopt.transformer.shapes import model_of_shapes as model_of_shapes
from topoopt.transformer.zoo import TRANSFORMERS as TRANSFORMERS
from topoopt.transformer.zoo import TransformerEntry as TransformerEntry
from topoopt.transformer.zoo import find_transformer as find_transformer
from topoopt.transformer.zoo import is_transformer as is_transformer
