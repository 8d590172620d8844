"""Limits on everything that a server sends, each with the reason for its number.

A server may be hostile: the author of an access Secret chooses the address of a runtime, and a catalog by URL is
public text. Together the limits keep the process below 300 MB; the screen itself takes 70 to 90 MB of that.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1 << 10
MIB: Final = 1 << 20

# one answer of an API server

LARGEST_ANSWER: Final = 12 * MIB
"""Bytes after decompression. An object has at most 3 MB (etcd takes 1.5 MiB); a larger page is read in smaller ones."""
HEAVIEST_ANSWER: Final = 48 * MIB
"""Memory that decoding takes (see `weight`). Real pages take 4 to 7 bytes for each byte, `[[],[],…]` takes 20."""
LARGEST_LINE: Final = 8 * MIB
"""Bytes of one event of a watch, which is one object."""
LARGEST_ERROR: Final = 512 * KIB
"""Bytes of an error's body. A conflict of server-side apply names each field, in some 100 bytes."""
LIGHT_ANSWER: Final = 4 * MIB
"""Weight of an answer that needs no turn: heavier ones of one server are read one after the other."""
DEEPEST: Final = 128
"""Levels of JSON. The schema of a CRD, the deepest object there is, has 40 to 60."""
ANSWER_SECONDS: Final = 120.0
"""For a request with its whole answer. The API server itself ends requests after 60 seconds."""
FIRST_ANSWER_SECONDS: Final = 10.0
"""For a server that has never answered, from the first request on. Later answers may take as long as their requests."""
FIRST_AGAIN_SECONDS: Final = 3.0
"""The least for one request to a server that has never answered."""
TURN_SECONDS: Final = 30.0
"""For the rest of a heavy answer, while others may wait for its place."""
RECEIVED_HEAVY: Final = 6
"""Heavy answers of runtimes that arrive at a time, one of each: 72 MiB. They are decoded one after the other."""
EVENT_SECONDS: Final = 60.0
"""For one event of a watch, from its first byte to its last."""

# a paged list

MOST_OBJECTS: Final = 200_000
"""Objects of one list: 8 times the 25,000 Manifests of the largest fleet known."""
MOST_PAGES: Final = 5_000
"""Pages of one list. 200,000 objects in pages of 500 are 400; pages of large objects are smaller."""
MOST_EMPTY_PAGES: Final = 10
"""Pages in a row that have no objects and promise more. API servers fill their pages."""
LIST_SECONDS: Final = 300.0
"""For all pages: a continue token of an API server expires after that time."""

# objects in memory

MOST_KEPT: Final = 112 * MIB
"""Weight of all that is kept of a cluster of the kubeconfig: 5,000 Kymas and 25,000 Manifests take about half."""
MOST_KEPT_GIVEN: Final = 32 * MIB
"""Weight of all that is kept of one runtime, which has some 30 modules (about 2 MiB)."""
MOST_KEPT_OF_ALL_GIVEN: Final = 64 * MIB
"""Weight of all that is kept of all runtimes together."""

# discovery

MOST_RESOURCES: Final = 20_000
"""Resources that a server serves. Clusters with many operators have 1,000 to 2,000."""

# registries, repositories, addresses

LARGEST_DOCUMENT: Final = 8 * MIB
"""Bytes of a list of tags, of referrers, of a token. A page of 10,000 tags has 500 KB."""
LARGEST_CATALOG: Final = 6 * MIB
"""Bytes of a catalog. Reading YAML takes up to 27 bytes for each byte; 500 templates have 1 MB."""
LARGEST_PAGE: Final = 8 * MIB
"""Bytes of a manifest at an address: the largest ones that projects publish have 2 to 3 MB."""
LARGEST_INDEX: Final = 12 * MIB
"""Bytes of a chart repository's index: those of the largest public ones have 5 to 10 MB, with 700,000 YAML nodes."""
LARGEST_ARCHIVE: Final = 32 * MIB
"""Bytes of a packed chart: Helm takes 20 MiB of a repository."""
LARGEST_PROVENANCE: Final = MIB
"""Bytes of a signature with the metadata of its chart."""
LARGEST_LAYER: Final = 32 * MIB
"""Bytes of a module's layer: manifests and charts, and no images."""
MOST_TAG_PAGES: Final = 200
"""Pages of tags: registries send 100 to 10,000 tags on a page."""
MOST_TAGS: Final = 100_000
"""Tags of a repository: nightly builds of 30 years."""
TRANSFER_SECONDS: Final = 900.0
"""For one layer or chart: 100 MiB in 15 minutes are 1 Mbit/s."""
DOCUMENT_SECONDS: Final = 60.0
"""For a manifest, a list of tags, a token."""
