"""The choice of a template for direct installation, and the reasons against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kymatui.domain.catalog.rows import NAMING_LISTS, Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import same_version, version_order
from kymatui.domain.modules.presence import Presence
from kymatui.domain.plans.cluster_management import ClusterManager
from kymatui.domain.snapshot.missing_lists import gap_of
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.domain.versions.offers import AmbiguousOffer, NoSuchModule, NoSuchVersion, find_offer
from kymatui.errors import RefusedError

RAW_MANIFEST = "rawManifest"


@dataclass(frozen=True, slots=True)
class InstallChoice:
    """A template for direct installation, with the manifest's address and the module's namespace."""

    template: ModuleTemplate
    address: str
    namespace: str


def choose_template(shelf: TemplateIndex, module: str, version: str = "", namespace: str = "") -> InstallChoice | str:
    """Return the template of a version or of the newest stable one, or a message why there is none.

    `namespace` selects among templates with the same version.
    """
    found = find_offer(shelf, module, version, namespace)
    if isinstance(found, AmbiguousOffer):
        found = _the_same(shelf, found) or found
    match found:
        case NoSuchModule(_, alike):
            near = f"; did you mean {', '.join(alike[:3])}?" if alike else ""
            return f"no catalog offers a module {module}{near}"
        case NoSuchVersion(_, wanted, offered):
            return f"{module} is not offered in {wanted}, only in {', '.join(offered[:8])}"
        case AmbiguousOffer(_, wanted, places):
            said = f"{module} {wanted} is offered in several places, which differ: {', '.join(places)}"
            return f"{said}; say in which namespace, with -n"
        case ModuleTemplate():
            address = next((link.address for link in found.links if link.name == RAW_MANIFEST), "")
            if not address:
                return f"{found.ref} names no {RAW_MANIFEST}: only lifecycle-manager can install it"
            manager = found.manager.namespace if found.manager is not None else ""
            return InstallChoice(found, address, manager or KYMA_NAMESPACE)


def _the_same(shelf: TemplateIndex, several: AmbiguousOffer) -> ModuleTemplate | None:
    """Return the first template if all of them install the same, else None."""
    named = {place: one for one in shelf.offers(several.module) for place in [f"{one.meta.namespace}/{one.meta.name}"]}
    first, *others = (named[place] for place in several.places)
    same_in_all = all((one.links, one.data, one.manager) == (first.links, first.data, first.manager) for one in others)
    return first if same_in_all else None


def unknown_lists(feeds: Mapping[str, Feed]) -> Iterator[str]:
    """Yield the missing lists that show what lifecycle-manager manages, each with the reason."""
    for name in NAMING_LISTS:
        feed = feeds.get(name, Feed(FeedState.SYNCING))
        if gap_of(feed) is not None:
            yield f"{name.partition('.')[0]} ({feed.message or _WORDS[feed.state]})"


_WORDS = {
    FeedState.SYNCING: "not listed in time",
    FeedState.FORBIDDEN: "you may not list them",
    FeedState.FAILED: "the server did not answer",
}


def install_refusals(
    seen: Catalog,
    name: str,
    row: ModuleRow | None,
    feeds: Mapping[str, Feed],
    *,
    direct: bool,
    keeper: ClusterManager = ClusterManager.LIFECYCLE_MANAGER,
) -> Iterator[str]:
    """Yield the reasons against a direct installation.

    `direct` means that the user insists, `keeper` is the cluster's manager. A module that lifecycle-manager manages
    is never installed directly, because both would write the same objects. An unknown manager counts as
    lifecycle-manager unless the user insists.
    """
    if not direct and (unseen := list(unknown_lists(feeds))):
        yield (
            f"it is not known whether lifecycle-manager manages {name}: {', '.join(unseen)} "
            "(try again, or insist with --direct if you know that it does not)"
        )
    if row is None:
        return
    if row.managed or row.mandatory:
        yield f"{row.name} is managed by lifecycle-manager, which would undo what is installed here; edit the Kyma"
    elif row.manifest is not None and row.presence is not Presence.UNMANAGED:
        yield (
            f"{row.name} is installed by Manifest {row.manifest.namespace}/{row.manifest.name}: whoever reconciles "
            "that would undo what is installed here; change the Manifest, or delete it"
        )
    elif (
        seen.kyma is not None and row.origin is CatalogOrigin.KYMA and not direct and keeper is ClusterManager.OPERATOR
    ):
        yield (
            f"this cluster is managed by kymatui's operator and offers {row.name}: install it by a Manifest "
            f"(`:manifest {row.name}` on the screen; or insist with --direct, then nothing upgrades it)"
        )
    elif seen.kyma is not None and row.origin is CatalogOrigin.KYMA and not direct:
        yield (
            f"this cluster is managed by lifecycle-manager and offers {row.name}: enable it in the Kyma "
            "(or insist with --direct; then nothing upgrades it)"
        )


def adoptable_row(row: ModuleRow | None, name: str, version: str = "") -> ModuleRow:
    """Return the row that kymatui may adopt.

    Raises RefusedError if nothing is installed, if lifecycle-manager manages it, or if another `version` is
    installed than requested: fields that only the installed version has would then remain without an owner.
    """
    if row is None or row.presence in (Presence.NOT_INSTALLED, Presence.ORPHAN):
        raise RefusedError(f"there is no {name} to take over", hint=f"`kymatui install {name}` installs it")
    if row.presence is Presence.UNMANAGED and row.reports.kyma not in ("", State.UNMANAGED):
        raise RefusedError(
            f"lifecycle-manager has not let go of {name} yet: its status says {row.reports.kyma}",
            hint=f"`kymatui unmanage {name}` waits for it",
        )
    if row.managed:
        raise RefusedError(
            f"{name} is managed by lifecycle-manager, which would undo what is taken from it",
            hint=f"`kymatui unmanage {name}` makes lifecycle-manager let go of it first",
        )
    if version and row.installed and not same_version(row.installed, version):
        raise RefusedError(
            f"{name} {row.installed} is there, and only that can be taken over, not {version}",
            hint=f"`kymatui adopt {name}` takes it over, then `kymatui upgrade {name} --version {version}` moves it",
        )
    return row


def is_lower_version(installed: str, wanted: str) -> bool:
    """Return whether the wanted version is lower than the installed one."""
    return (
        bool(installed and wanted)
        and not same_version(installed, wanted)
        and version_order(wanted) < version_order(installed)
    )
