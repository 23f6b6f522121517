"""VGG: blocks of convolutions and a wide dense head, as the TopoOpt authors train it and as it is published."""

import itertools
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.workloads.operator_graph import Operator, OperatorGraph
from topoopt.workloads.zoo.layers import Image, append, conv2d, dense, flatten, pool, pooled_to, softmax
from topoopt.workloads.zoo.model_entry import ModelEntry, check_integers, published_variants


@dataclass(frozen=True, slots=True)
class VggParameters:
    """Hyper-parameters of a VGG; defaults are the authors' VGG-16.

    Attributes
    ----------
    batch_per_accelerator : int
        Images per accelerator and iteration.
    image_size, classes : int
        Height and width of an image of three channels; outputs.
    blocks, channels : tuple of int
        Convolutions of each block and their channels; a pool ends each block.
    hidden : int
        Width of the two hidden dense layers.
    head_side : int
        Side that feature maps are pooled to before the dense layers, of a network as published: padding 1 and pools of
        2×2. 0 for the authors': padding 2, pools of 3×3, and all features to the dense layers.
    """

    batch_per_accelerator: int = 64
    image_size: int = 229
    classes: int = 1000
    blocks: tuple[int, ...] = (2, 2, 3, 3, 3)
    channels: tuple[int, ...] = (64, 128, 256, 512, 512)
    hidden: int = 4096
    head_side: int = 0

    def __post_init__(self) -> None:
        check_integers(self, zero_allowed=("head_side",))
        if len(self.blocks) != len(self.channels):
            raise InvalidInput(
                f"blocks and channels must be equally long, got {len(self.blocks)} and {len(self.channels)}"
            )


def vgg(name: str, p: VggParameters) -> OperatorGraph:
    """Return the network as an operator graph.

    References
    ----------
    .. [1] K. Simonyan and A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
           Recognition", ICLR 2015.
    """
    padding, window = (1, 2) if p.head_side else (2, 3)
    ops: list[Operator] = []
    image = Image(3, p.image_size)
    last: tuple[int, ...] = ()
    for block, (depth, channels) in enumerate(zip(p.blocks, p.channels, strict=True)):
        for i in range(depth):
            op, image = conv2d(
                f"block_{block}.{i}", last, image, channels, kernel=3, stride=1, padding=padding
            )
            last = (append(ops, op),)
        op, image = pool(f"block_{block}.pool", last[0], image, kernel=window, stride=2, padding=0)
        last = (append(ops, op),)
    if p.head_side:
        op, image = pooled_to("average", last[0], image, p.head_side)
        last = (append(ops, op),)
    last = (append(ops, flatten("flatten", last[0], image.elements)),)
    widths = (image.elements, p.hidden, p.hidden, p.classes)
    for i, (width_in, width_out) in enumerate(itertools.pairwise(widths)):
        last = (append(ops, dense(f"dense_{i}", last, width_in, width_out)),)
    append(ops, softmax("softmax", last[0], p.classes))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


VGG11 = ModelEntry(
    "VGG-11", "vision: as VGG-16, of 8 convolutions", vgg, published_variants("vgg11", VggParameters)
)
VGG16 = ModelEntry(
    "VGG-16",
    "vision: convolutions and a wide dense head",
    vgg,
    published_variants("vgg16", VggParameters),
)
VGG19 = ModelEntry(
    "VGG-19", "vision: as VGG-16, of 16 convolutions", vgg, published_variants("vgg19", VggParameters)
)
