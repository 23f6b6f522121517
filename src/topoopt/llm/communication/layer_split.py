"""Which layers are in which chunk of a pipeline."""

from itertools import pairwise

from topoopt.errors import InvalidInput


def chunk_layers(layers: int, chunks: int) -> tuple[range, ...]:
    """Return the layers of each chunk, as even as can be; the first chunks have one more.

    Chunk c runs on stage ``c % pp``.

    Raises
    ------
    InvalidInput
        If a chunk would have no layer.

    Examples
    --------
    >>> chunk_layers(10, 4)
    (range(0, 3), range(3, 6), range(6, 8), range(8, 10))
    """
    if not 1 <= chunks <= layers:
        raise InvalidInput(f"pp·vpp: {layers} layers can be cut into 1..{layers} chunks, got {chunks}")
    size, more = divmod(layers, chunks)
    begins = [chunk * size + min(chunk, more) for chunk in range(chunks + 1)]
    return tuple(range(begin, end) for begin, end in pairwise(begins))
