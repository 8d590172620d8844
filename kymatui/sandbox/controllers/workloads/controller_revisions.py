"""ControllerRevisions: the template history of StatefulSets and DaemonSets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kymatui.sandbox.controllers.framework.controller_context import ControllerContext
from kymatui.sandbox.controllers.framework.store_reader import Obj, is_controlled_by, owner_reference

RESOURCE = "controllerrevisions.apps"


class Revisions:
    """The revisions of the objects of one kind, oldest first; the newest has the current template."""

    def __init__(self, context: ControllerContext, kind: str, hash_label: str) -> None:
        self._context = context
        self._kind = kind
        self._hash_label = hash_label

    def of(self, owner: Obj) -> list[Obj]:
        namespace, uid = owner["metadata"].get("namespace", ""), owner["metadata"]["uid"]
        revisions = [r for r in self._context.observer.all(RESOURCE, namespace) if is_controlled_by(r, uid)]
        return sorted(revisions, key=lambda revision: revision["revision"])

    def current(self, owner: Obj) -> Obj:
        """Return the revision of the owner's template: found, moved to the front, or created."""
        known = self.of(owner)
        latest = known[-1]["revision"] if known else 0
        data = {"spec": {"template": {**owner["spec"]["template"], "$patch": "replace"}}}
        same = next((r for r in known if r["data"] == data), None)
        if same is None:
            return self._create(owner, data, latest + 1)
        if same["revision"] < latest:
            updated: Obj = self._context.client.update(RESOURCE, {**same, "revision": latest + 1})
            return updated
        return same

    def _create(self, owner: Obj, data: Obj, revision: int) -> Obj:
        digest = template_hash(data)
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        revision_object = {
            "metadata": {
                "name": f"{owner['metadata']['name']}-{digest}",
                "labels": {**labels, self._hash_label: digest},
                "ownerReferences": [owner_reference("apps/v1", self._kind, owner)],
            },
            "data": data,
            "revision": revision,
        }
        created: Obj = self._context.client.create(
            RESOURCE, revision_object, namespace=owner["metadata"].get("namespace", "")
        )
        return created

    def clean_up(self, owner: Obj, used: Sequence[str]) -> None:
        """Delete unused revisions beyond revisionHistoryLimit."""
        limit = owner["spec"].get("revisionHistoryLimit", 10)
        idle = [r for r in self.of(owner)[:-1] if r["metadata"]["name"] not in used and _digest(r) not in used]
        for revision in idle[: max(len(idle) - limit, 0)]:
            self._context.delete(RESOURCE, revision)


def _digest(revision: Obj) -> str:
    return str(revision["metadata"]["name"].rpartition("-")[2])


digest_of_revision = _digest


# Short template hashes: FNV-1a over canonical JSON, in the alphabet of k8s.io/apimachinery's rand.
#
# The alphabet is that of real names (no vowels, no similar letters), so a hash looks real; its value differs from Go's
# dump of the same struct, on which no client may rely.


_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def fnv32a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


def template_hash(template: Any, collisions: int = 0) -> str:
    """Return the pod-template-hash of a pod template, different for each collision."""
    data = json.dumps(template, sort_keys=True, separators=(",", ":")).encode()
    if collisions:
        data += str(collisions).encode()
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(fnv32a(data)))
