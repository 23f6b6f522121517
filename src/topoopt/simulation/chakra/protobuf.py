"""The wire format of protocol buffers, as far as Chakra's files need it: varints, 8 and 4 bytes, and runs of bytes.

References
----------
.. [1] protobuf.dev/programming-guides/encoding: base-128 varints, tags, packed repeated fields.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

VARINT, EIGHT, RUN, FOUR = 0, 1, 2, 5
"""How a field is laid out; the low three bits of its tag."""
LONGEST_VARINT = 10
_SIZES = {EIGHT: 8, FOUR: 4}


class Field(NamedTuple):
    """A field as it stands in a message: a number, or its bytes."""

    number: int
    kind: int
    value: int
    data: bytes


def varint(value: int) -> bytes:
    """Return a number of up to 64 bits in base 128; a negative one in two's complement.

    Examples
    --------
    >>> varint(300).hex()
    'ac02'
    """
    value &= 0xFFFF_FFFF_FFFF_FFFF
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def tag(number: int, kind: int) -> bytes:
    """Return what stands before a field."""
    return varint(number << 3 | kind)


def number_field(number: int, value: int) -> bytes:
    """Return a field that holds a whole number."""
    return tag(number, VARINT) + varint(value)


def run_field(number: int, data: bytes) -> bytes:
    """Return a field of bytes: text, a message, or packed numbers."""
    return tag(number, RUN) + varint(len(data)) + data


def framed(message: bytes) -> bytes:
    """Return a message behind its length, as it stands in a file of several."""
    return varint(len(message)) + message


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends.

    Raises
    ------
    ValueError
        If the bytes end before it does, or it is longer than 64 bits take.
    """
    try:
        value = data[at]
        if value < 0x80:  # most numbers are small, and a file has millions
            return value, at + 1
        value, shift = value & 0x7F, 7
        for place in range(at + 1, at + LONGEST_VARINT):
            byte = data[place]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
            shift += 7
    except IndexError:
        pass
    raise ValueError(f"byte {at}: the file ends within a number, or this is none")


def fields(data: bytes) -> Iterator[Field]:
    """Yield the fields of a message, in the order in which they stand there.

    Raises
    ------
    ValueError
        If it ends within a field, or holds what no protocol buffer does.
    """
    at, end = 0, len(data)
    while at < end:
        key = data[at]
        if key < 0x80:
            at += 1
        else:
            key, at = read_varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
            yield Field(number, kind, value, b"")
            continue
        if kind == RUN:
            size, at = read_varint(data, at)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise ValueError(f"byte {at}: field {number} of kind {kind}, which no protocol buffer has")
        if size > end - at:
            raise ValueError(f"byte {at}: field {number} has {size} bytes, of which {end - at} are there")
        yield Field(number, kind, 0, data[at : at + size])
        at += size


def numbers(field: Field) -> Sequence[int]:
    """Return the whole numbers of a repeated field: those packed in one run, or the only one."""
    if field.kind == VARINT:
        return (field.value,)
    values, at = [], 0
    while at < len(field.data):
        value, at = read_varint(field.data, at)
        values.append(value)
    return values


def signed(value: int) -> int:
    """Return the 64-bit number that two's complement means.

    Examples
    --------
    >>> signed(2**64 - 3)
    -3
    """
    return value - (1 << 64) if value >> 63 else value
