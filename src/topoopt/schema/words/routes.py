"""The words of forwarding: how the bytes of a pair are put on its paths, and which addresses servers and links have."""

from typing import Annotated, TypedDict

from topoopt.schema.words.word import Word, panel


@panel("Forwarding")
class ForwardingWords(TypedDict, total=False):
    """How servers forward."""

    paths: Annotated[str, Word("hashed|pinned", "hashed")]
    """Connections of a pair are hashed over its paths, by weights; or each path has an address of its own."""
    identity_prefix: Annotated[str, Word("PREFIX", "10.99.0.0/16")]
    """Addresses of servers, such as 10.99.0.0/16."""
    link_prefix: Annotated[str, Word("PREFIX", "10.9.0.0/16")]
    """Addresses of the ends of links, two for each cable."""
