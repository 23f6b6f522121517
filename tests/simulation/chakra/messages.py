"""Chakra's messages as the protobuf library knows them, from field numbers of ``et_def.proto`` written down here."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "ChakraProtoMsg"
_F = descriptor_pb2.FieldDescriptorProto
_SCALARS = (
    *(
        ("double", 3),
        ("float", 5),
        ("int32", 7),
        ("int64", 9),
        ("uint32", 11),
        ("uint64", 13),
        ("sint32", 15),
    ),
    *(("sint64", 17), ("fixed32", 19), ("fixed64", 21), ("sfixed32", 23), ("sfixed64", 25), ("bool", 27)),
    *(("string", 29), ("bytes", 31)),
)


def _messages() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="et_def.proto", package=PACKAGE, syntax="proto3")

    def message(name: str) -> Any:
        return file.message_type.add(name=name)

    def field(
        owner: Any, name: str, number: int, kind: int, type_name: str = "", repeated: bool = False
    ) -> Any:
        label = _F.LABEL_REPEATED if repeated else _F.LABEL_OPTIONAL
        made = owner.field.add(name=name, number=number, type=kind, label=label)
        if type_name:
            made.type_name = f".{PACKAGE}.{type_name}"
        return made

    for scalar, _ in _SCALARS:
        name = f"{scalar.capitalize()}List"
        field(message(name), "values", 1, getattr(_F, f"TYPE_{scalar.upper()}"), repeated=True)
    attribute = message("AttributeProto")
    field(attribute, "name", 1, _F.TYPE_STRING)
    field(attribute, "doc_string", 2, _F.TYPE_STRING)
    attribute.oneof_decl.add(name="value")
    for scalar, number in _SCALARS:
        field(attribute, f"{scalar}_val", number, getattr(_F, f"TYPE_{scalar.upper()}")).oneof_index = 0
        listed = f"{scalar.capitalize()}List"
        field(attribute, f"{scalar}_list", number + 1, _F.TYPE_MESSAGE, listed).oneof_index = 0
    io = message("IOInfo")
    for number, name in enumerate(("values", "shapes", "types"), start=1):
        field(io, name, number, _F.TYPE_STRING)
    metadata = message("GlobalMetadata")
    field(metadata, "version", 1, _F.TYPE_STRING)
    field(metadata, "attr", 2, _F.TYPE_MESSAGE, "AttributeProto", repeated=True)
    node = message("Node")
    field(node, "id", 1, _F.TYPE_UINT64)
    field(node, "name", 2, _F.TYPE_STRING)
    field(node, "type", 3, _F.TYPE_INT32)  # an enum on the wire is one
    field(node, "ctrl_deps", 4, _F.TYPE_UINT64, repeated=True)
    field(node, "data_deps", 5, _F.TYPE_UINT64, repeated=True)
    field(node, "start_time_micros", 6, _F.TYPE_UINT64)
    field(node, "duration_micros", 7, _F.TYPE_UINT64)
    field(node, "inputs", 8, _F.TYPE_MESSAGE, "IOInfo")
    field(node, "outputs", 9, _F.TYPE_MESSAGE, "IOInfo")
    field(node, "attr", 10, _F.TYPE_MESSAGE, "AttributeProto", repeated=True)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = [made.name for made in file.message_type]
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in names
    }


MESSAGES = _messages()
Node, Attribute, GlobalMetadata = (MESSAGES[name] for name in ("Node", "AttributeProto", "GlobalMetadata"))


def attribute(name: str, **value: Any) -> Any:
    """Return an attribute, such as ``attribute("comm_size", uint64_val=8)``."""
    return Attribute(name=name, **value)


def file_bytes(*nodes: Any, version: str = "0.0.4") -> bytes:
    """Return a trace, as Chakra's own writer frames it."""
    parts = [message.SerializeToString() for message in (GlobalMetadata(version=version), *nodes)]
    return b"".join(_length(len(part)) + part for part in parts)


def nodes_of(data: bytes) -> tuple[Any, list[Any]]:
    """Return the metadata and the nodes of a trace."""
    messages, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            size |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 0x80:
                break
        messages.append(data[at : at + size])
        at += size
    return GlobalMetadata.FromString(messages[0]), [Node.FromString(part) for part in messages[1:]]


def _length(size: int) -> bytes:
    """Return a length in base 128, seven bits a byte, the lowest first."""
    digits = [size >> shift & 0x7F for shift in range(0, max(size.bit_length(), 1), 7)]
    return bytes(digit | 0x80 for digit in digits[:-1]) + bytes(digits[-1:])
