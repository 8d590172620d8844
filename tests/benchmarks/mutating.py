"""Changes answers: types swapped, fields dropped, nulls, huge numbers, wrong kinds, bytes that are no JSON."""

from __future__ import annotations

import base64
import copy
import json
import random
from collections.abc import Iterator
from typing import Any

from msgspec import DecodeError, yaml

ODD: tuple[Any, ...] = (
    None, 5, -1, 2**63, 2**70, 1e308, 0.5, True, False, "", "text", "\u202e\u0000\x1b[31m", "x" * 70_000,
    [], [None], [5], ["text"], [[]], {}, {"a": {"b": []}}, {"": None}, [{"name": 5}], {"metadata": 5}, "9999-99-99T",
)  # fmt: skip
_ENVELOPE = ("metadata", "kind", "apiVersion", "items", "name", "namespace", "managedFields", "ownerReferences")


def places(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in entries:
        yield from places(below, (*path, key))


class Mutator:
    """Changes some of the answers that it is given, by its seed alone."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._often = self._random.choice((0.03, 0.1, 0.3, 1.0))
        self.changed = 0

    def body(self, body: bytes) -> bytes:
        if not body or self._random.random() > self._often:
            return body
        self.changed += 1
        if self._random.random() < 0.08:
            return self.garbage(body)
        return self.changed_body(body)

    def changed_body(self, body: bytes) -> bytes:
        """The same JSON with odd values; what is no JSON stays."""
        try:
            document = json.loads(body)
        except ValueError:
            return body
        if self._random.random() < 0.5:
            self._change_kubeconfigs(document)
        for _ in range(self._random.choice((1, 1, 2, 5))):
            document = self._odd(document)
        return json.dumps(document).encode()

    def _change_kubeconfigs(self, document: Any) -> None:
        """Changes what Secrets hold as text: the kubeconfigs of runtimes."""
        for path in list(places(document)):
            if path[-2:] != ("data", "config"):
                continue
            spot = document
            for key in path[:-1]:
                spot = spot[key]
            try:
                inner = yaml.decode(base64.b64decode(spot["config"]))
            except (ValueError, TypeError, DecodeError):
                continue
            spot["config"] = base64.b64encode(json.dumps(self._odd(inner)).encode()).decode()

    def garbage(self, body: bytes) -> bytes:
        cut = self._random.randrange(len(body))
        return self._random.choice(
            (
                body[:cut],
                body[:cut] + b"\xff\xfe" + body[cut:],
                body[:cut] + b"," + body[cut:],
                b"null",
                b"[]",
                b"{}",
                b'"text"',
                b"1" * 5000,
                b"[" * 100_000,
                b'{"kind":"Status","status":"Success"}',
                b'{"kind":"List","items":[{}]}',
                b"<html></html>",
            )
        )

    def _odd(self, document: Any) -> Any:
        found = list(places(document))
        named = [path for path in found if path and path[-1] in _ENVELOPE]
        path = self._random.choice(named if named and self._random.random() < 0.5 else found)
        if not path:
            return copy.deepcopy(self._random.choice(ODD))
        spot = document
        for key in path[:-1]:
            spot = spot[key]
        if isinstance(spot, dict) and self._random.random() < 0.3:
            del spot[path[-1]]
        elif self._random.random() < 0.15:
            spot[path[-1]] = [spot[path[-1]]]
        else:
            spot[path[-1]] = copy.deepcopy(self._random.choice(ODD))
        return document
