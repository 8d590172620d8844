"""Limits on YAML from outside, each with the reason for its number.

They are counted while libyaml parses, before a value exists. libyaml itself takes time in proportion to the text, with
one exception: each `%TAG` is compared with all others.
"""

from __future__ import annotations

from typing import Final

from kymatui.helm.yaml.errors import YamlLimitError

LARGEST_TEXT: Final = 64 << 20
"""Bytes of one text, which is read in memory."""
MOST_NODES: Final = 1_000_000
"""Maps, lists and scalars of one source, with those that aliases repeat: about 100 MB, and 2 seconds.

Manifests have 30 to 90 bytes of text for each node, so this is 30 MB of them; the largest release of CRDs has 5 MB.
"""
NODE: Final = 150
"""Bytes of a node with its place in a list or map, for the rendering that reads it."""
NODES: Final = 256
"""Nodes that are counted at once."""
MAX_DEPTH: Final = 500
"""Collections within collections; Go allows 10,000, Python's stack does not."""
LARGEST_REPETITION: Final = 16 << 20
"""Characters that aliases repeat. They take no memory here, but all of it in JSON."""
MOST_TAG_DIRECTIVES: Final = 64
"""`%TAG` lines of a text: 60,000 of them take libyaml 5 seconds, in which no other thread runs."""
LARGEST_REREADING: Final = 128 << 20
"""Bytes that are read again because go-yaml accepts a character that libyaml refuses."""


class YamlBudget:
    """What is left of the limits of one source, whose texts share it."""

    __slots__ = ("characters", "most", "nodes")

    def __init__(self, nodes: int = MOST_NODES) -> None:
        self.most = self.nodes = nodes
        self.characters = LARGEST_REPETITION

    def charge(self, nodes: int, characters: int = 0) -> None:
        """Take what a copy adds. Raise YamlLimitError if that is more than is left."""
        self.nodes -= nodes
        self.characters -= characters
        if self.nodes < 0 or self.characters < 0:
            problem = "it has too many copies"
            raise YamlLimitError(problem, problem=problem)
