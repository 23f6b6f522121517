"""VGG-16 as the authors train it: 229×229 images, padding 2, pools of 3×3."""

import itertools
from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.workload.graph import Operator, OperatorGraph
from topoopt.workload.zoo.hyperparameters import check_integers
from topoopt.workload.zoo.layers import Image, append, conv2d, dense, flatten, pool, softmax
from topoopt.workload.zoo.model_entry import ModelEntry, published_variants


@dataclass(frozen=True, slots=True)
class Vgg16Parameters:
    """Hyper-parameters of VGG-16; defaults are the authors'.

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
    """

    batch_per_accelerator: int = 64
    image_size: int = 229
    classes: int = 1000
    blocks: tuple[int, ...] = (2, 2, 3, 3, 3)
    channels: tuple[int, ...] = (64, 128, 256, 512, 512)
    hidden: int = 4096

    def __post_init__(self) -> None:
        check_integers("vgg16", self)
        if len(self.blocks) != len(self.channels):
            raise InvalidInput(
                f"vgg16: blocks and channels must be equally long, got {len(self.blocks)} and {len(self.channels)}"
            )


def vgg16(name: str, p: Vgg16Parameters) -> OperatorGraph:
    """Return VGG-16 as an operator graph.

    References
    ----------
    .. [1] K. Simonyan and A. Zisserman, "Very Deep Convolutional Networks for Large-Scale Image
           Recognition", ICLR 2015.
    """
    ops: list[Operator] = []
    image = Image(3, p.image_size)
    last: tuple[int, ...] = ()
    for block, (depth, channels) in enumerate(zip(p.blocks, p.channels, strict=True)):
        for i in range(depth):
            op, image = conv2d(f"block_{block}.{i}", last, image, channels, kernel=3, stride=1, padding=2)
            last = (append(ops, op),)
        op, image = pool(f"block_{block}.pool", last[0], image, kernel=3, stride=2, padding=0)
        last = (append(ops, op),)
    last = (append(ops, flatten("flatten", last[0], image.elements)),)
    widths = (image.elements, p.hidden, p.hidden, p.classes)
    for i, (width_in, width_out) in enumerate(itertools.pairwise(widths)):
        last = (append(ops, dense(f"dense_{i}", last, width_in, width_out)),)
    append(ops, softmax("softmax", last[0], p.classes))
    return OperatorGraph(name, tuple(ops), p.batch_per_accelerator)


VGG16 = ModelEntry(
    "VGG-16",
    "vision: convolutions and a wide dense head",
    vgg16,
    published_variants("vgg16", Vgg16Parameters),
)
