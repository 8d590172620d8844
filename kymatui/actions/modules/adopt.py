"""Upgrades of what kymatui did not install: the same plan adopts it, and says what the old version had besides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kymatui.actions.modules.module_sources import catalog_bundle
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.managed_fields import content_writers
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import newest_above
from kymatui.domain.ownership import DASHBOARD_MANAGER, KYMA_CLI_MANAGER
from kymatui.domain.plans.direct_install import adoptable_row, choose_template
from kymatui.errors import KymatuiError, RefusedError

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Blobs, Cluster
    from kymatui.engine.plans.plan import Intent


def adopt_intent(intent: Intent, row: ModuleRow | None, templates: TemplateIndex, blobs: Blobs) -> Intent:
    """Return the intent as one that adopts what is there, in whatever version. Raises RefusedError where it may not.

    What the version that is there has and the bundle has not is fetched from the catalog, to be deleted with the rest
    of an upgrade; where the catalog does not have that version any more, the plan says so.
    """
    bundle = intent.bundle
    adopted_row = adoptable_row(row, bundle.name)
    adopted_intent = replace(intent, adopt=True, force=True, adopted_version=adopted_row.installed)
    if adopted_row.installed == bundle.version:
        return adopted_intent
    choice = (
        choose_template(templates, adopted_row.name, adopted_row.installed)
        if adopted_row.installed
        else "its version is unknown"
    )
    why = choice if isinstance(choice, str) else ""
    if not isinstance(choice, str):
        try:
            old = catalog_bundle(choice, blobs)
        except KymatuiError as error:
            why = str(error)
        else:
            kept = {read_ref(body).key for body in (*bundle.crds, *bundle.objects)}
            refs = [read_ref(body) for body in (*old.crds, *old.objects)]
            return replace(adopted_intent, outdated=tuple(ref for ref in refs if ref.key not in kept))
    note = f"objects that are only in {adopted_row.installed or 'the old version'} are not deleted: {why}"
    return replace(adopted_intent, bundle=replace(bundle, notes=(*bundle.notes, note)))


_PLACES: Final = ((KYMA_CLI_MANAGER, KYMA_NAMESPACE), (DASHBOARD_MANAGER, "default"))
"""Where other installers create an object that names no namespace; kymatui creates it in the manager's."""


def with_misplaced(intent: Intent, cluster: Cluster) -> Intent:
    """Return the intent of an adoption that also deletes what would exist twice afterwards, with a note that says so.

    kyma CLI and the dashboard create objects without a namespace in other namespaces than kymatui.
    """
    bundle = intent.bundle
    unplaced = [read_ref(body) for body in bundle.objects if not read_ref(body).namespace]
    scopes = {ref.kind: cluster.kind(ref.kind) for ref in unplaced}
    copies = []
    for ref in unplaced:
        scope = scopes[ref.kind]
        for manager, namespace in _PLACES if scope is not None and scope.namespaced else ():
            copy = replace(ref, namespace=namespace)
            live = cluster.get(copy) if namespace != bundle.namespace else None
            if live is not None and content_writers(live) == {manager}:
                copies.append(copy)
    if not copies:
        return intent
    becomes = "is deleted" if intent.prune else "stays"
    note = f"{', '.join(map(str, copies))} {becomes}: kymatui installs the same in namespace {bundle.namespace}"
    bundle = replace(bundle, notes=(*bundle.notes, note))
    return replace(intent, bundle=bundle, outdated=(*intent.outdated, *copies))


def adoptable(
    catalog: Catalog, templates: TemplateIndex, known: frozenset[str], *, devel: bool = False
) -> Iterator[tuple[ModuleRow, str]]:
    """Yield what is installed by neither kymatui (`known`) nor a Manifest, and outdated, with the newest version."""
    for row in catalog.rows:
        if row.name in known or row.manifest is not None or row.mandatory:
            continue
        try:
            adoptable_row(row, row.name)
        except RefusedError:  # modules that cannot be adopted are not offered
            continue
        if version := newer_version(row, templates, devel=devel):
            yield row, version


def newer_version(row: ModuleRow, templates: TemplateIndex, *, devel: bool = False) -> str:
    """Return the newest version that the catalog offers above the one that is there; "" for none."""
    offers = [offer.version for offer in templates.offers(row.name) if offer.version]
    return newest_above(row.installed, offers, devel=devel) if row.installed else ""
