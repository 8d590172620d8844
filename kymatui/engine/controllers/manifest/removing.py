"""The way of a Manifest to being gone, or to letting go of what it installed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kymatui.domain.refs import ObjectRef
from kymatui.engine.clearing import Consent
from kymatui.engine.controllers.manifest.places import Site
from kymatui.engine.controllers.manifest.records import Installed
from kymatui.engine.deleting import delete
from kymatui.engine.holders import ANNOTATION_MANIFEST, LABEL_PART_OF
from kymatui.engine.inventories import Inventory
from kymatui.engine.keeping import SetKeeper
from kymatui.engine.planning import installed
from kymatui.engine.ports import OPERATOR_FIELD_MANAGER, Cluster, PatchKind
from kymatui.engine.removals import removal
from kymatui.errors import CancelledError, KymatuiError, NotFoundError


@dataclass(frozen=True, slots=True)
class Left:
    """What is still there: in words ("" when all is gone), and the objects that somebody waits for."""

    words: str = ""
    waits: tuple[ObjectRef, ...] = ()


class Removal:
    """Takes away, or lets go of, what stands in a record, on one cluster."""

    def __init__(self, site: Site, cluster: Cluster, cancel: threading.Event) -> None:
        self._site = site
        self._cluster = cluster
        self._cancel = cancel

    def remove(self, entries: Sequence[Installed]) -> Left:
        """Deletes all of it as far as it goes now; what it waits for, without words when nothing is left.

        The last installed goes first. Users' objects that a manager looks after are never deleted here: their owners
        do that, and until then everything stays.
        """
        found = [self._remove(entry) for entry in reversed(entries)]
        words = "; ".join(one.words for one in found if one.words)
        return Left(words, tuple(ref for one in found for ref in one.waits))

    def _remove(self, entry: Installed) -> Left:
        waits: tuple[ObjectRef, ...] = ()
        try:
            found = removal(entry.name, entry.namespace, self._cluster, self._site.clock, cancel=self._cancel)
            if found is None:
                return Left()
            waits = (*(one.ref for one in found.remaining.instances), *(step.ref for step in found.deletions))
            with self._site.begin(self._cluster, self._cancel) as run:
                delete(found, run, Consent(found.accepted))
            return Left()
        except CancelledError:
            raise
        except KymatuiError as error:
            return Left(str(error), waits)

    def let_go(self, entries: Iterable[Installed]) -> None:
        """Everything stays as it is, without the marks that say whose it is, and without an inventory.

        Raises NotFoundError for an object that is gone: somebody deleted it, and should know before nobody looks any
        more.
        """
        for entry in entries:
            inventory = installed(self._cluster, self._site.clock, entry.name, entry.namespace)
            if inventory is None:
                continue
            for item in inventory.items:
                self._unmark(item.ref)
            self._forget(inventory)

    def _unmark(self, ref: ObjectRef) -> None:
        patch = {"metadata": {"labels": {LABEL_PART_OF: None}, "annotations": {ANNOTATION_MANIFEST: None}}}
        try:
            self._cluster.patch(ref, patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=self._cancel)
        except NotFoundError as error:
            raise NotFoundError(
                f"{ref} is missing, and so cannot be let go of",
                hint="create it again, or delete the Manifest without letting go",
                status=404,
            ) from error

    def _forget(self, inventory: Inventory) -> None:
        """A Helm release stays: the helm command goes on with it."""
        if not inventory.chart:
            SetKeeper(self._cluster, inventory.name, inventory.namespace).remove(inventory)
