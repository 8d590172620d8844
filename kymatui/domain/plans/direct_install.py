"""The choice of a template for direct installation, and the reasons against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kymatui.domain.catalog.rows import NAMING_LISTS, Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.states import State
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import newest_version, same_version, version_order
from kymatui.domain.modules.presence import Presence
from kymatui.domain.plans.cluster_management import ClusterManager
from kymatui.domain.snapshot.missing_lists import gap_of
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.errors import RefusedError, did_you_mean

RAW_MANIFEST = "rawManifest"


class InstallChoice(Struct, frozen=True):
    """A template for direct installation, with the manifest's address and the module's namespace."""

    template: ModuleTemplate
    address: str
    namespace: str


def choose_template(
    templates: TemplateIndex, module: str, version: str = "", namespace: str = "", *, from_component: bool = False
) -> InstallChoice | str:
    """Return the template of a version or of the newest stable one, or a message why there is none.

    Versions are compared as versions. `namespace` selects among templates with the same version; several are as one if
    they install the same. A community template wins over one of Kyma's catalog: that one is for lifecycle-manager, and
    for a runtime it is on the control plane, where no option could select it. `from_component` needs no address of a
    manifest.
    """
    offers = [template for template in templates.offers(module) if namespace in ("", template.meta.namespace)]
    if not offers:
        alike = sorted(name for name in templates.by_module if module and module in name)
        return f"no module {module} in the catalog{did_you_mean(alike[:3])}"
    current = [template for template in offers if not templates.is_superseded(template)] or offers
    target = version or newest_version([template.version for template in current if template.version])
    matching = [template for template in offers if same_version(template.version, target)]
    if not matching:
        known = sorted({template.version for template in offers if template.version}, key=version_order, reverse=True)
        return f"no version {target} of {module} in the catalog; available: {', '.join(known[:8])}"
    matching = [template for template in matching if not templates.is_kyma(template)] or matching
    located = {template.ref.path: template for template in matching}
    offer = located[min(located)]
    if any((other.links, other.data, other.manager) != (offer.links, offer.data, offer.manager) for other in matching):
        named = f"{module} {target}: {', '.join(sorted(located))}"
        return f"several different templates of {named}; select the namespace with -n"
    address = next((link.address for link in offer.links if link.name == RAW_MANIFEST), "")
    if not address and not from_component:
        return f"{offer.ref} has no {RAW_MANIFEST}: it can only be enabled in a Kyma"
    manager = offer.manager.namespace if offer.manager is not None else ""
    return InstallChoice(offer, address, manager or KYMA_NAMESPACE)


def unknown_lists(feeds: Mapping[str, Feed]) -> Iterator[tuple[str, str]]:
    """Yield (name, reason) of the missing lists that show what lifecycle-manager manages."""
    for name in NAMING_LISTS:
        feed = feeds.get(name, Feed(FeedState.SYNCING))
        if gap_of(feed) is not None:
            yield name.partition(".")[0], feed.message or _WORDS[feed.state]


_WORDS = {
    FeedState.SYNCING: "not listed in time",
    FeedState.FORBIDDEN: "you may not list them",
    FeedState.FAILED: "the server did not answer",
}


def install_refusals(
    catalog: Catalog,
    name: str,
    row: ModuleRow | None,
    feeds: Mapping[str, Feed],
    *,
    direct: bool,
    adopts: bool = False,
    keeper: ClusterManager = ClusterManager.LIFECYCLE_MANAGER,
) -> Iterator[str]:
    """Yield the reasons against a direct installation.

    `direct` means that the user insists; with `adopts` that does not help against missing lists. `keeper` is the
    cluster's manager. A module that lifecycle-manager manages is never installed directly, because both would write
    the same objects. An unknown manager counts as lifecycle-manager unless the user insists.
    """
    if (adopts or not direct) and (unseen := list(unknown_lists(feeds))):
        lists = ", ".join(f"{kind} ({why})" for kind, why in unseen)
        advice = f"`kymatui rights adopt {name}`" if adopts else "retry, or use --direct if you know that it does not"
        yield f"it is unknown whether lifecycle-manager manages {name}: {lists} ({advice})"
    if row is None:
        return
    if row.managed or row.mandatory:
        instead = "" if row.mandatory else f"; `kymatui channel {row.name} CHANNEL` changes its version"
        yield f"{row.name} is managed by {row.keeper}, which would revert this change{instead}"
    elif row.manifest is not None and row.presence is not Presence.UNMANAGED:
        yield (
            f"{row.name} is installed by Manifest {row.manifest.namespace}/{row.manifest.name}, whose controller "
            "would revert this change; change or delete the Manifest instead"
        )
    elif catalog.kyma is None or row.origin is not CatalogOrigin.KYMA or direct:
        return
    elif keeper is ClusterManager.OPERATOR and catalog.kyma.keeper is not Actor.OPERATOR:
        yield (
            f"{row.name} is in the catalog, and kymatui's operator manages this cluster: install it with a Manifest "
            f"(`:manifest {row.name}` on the screen), or use --direct, without automatic upgrades"
        )
    else:
        yield (
            f"{row.name} is in the catalog, and {row.keeper} manages this cluster: enable it in the Kyma, "
            "or use --direct, without automatic upgrades"
        )


def adoptable_row(row: ModuleRow | None, name: str, version: str = "") -> ModuleRow:
    """Return the row that kymatui may adopt.

    Raises RefusedError if nothing is installed, if lifecycle-manager manages it, or if another `version` is
    installed than requested: fields that only the installed version has would then remain without an owner.
    """
    if row is None or row.presence in (Presence.NOT_INSTALLED, Presence.ORPHAN):
        raise RefusedError(f"{name} is not installed", hint=f"`kymatui install {name}`")
    if row.presence is Presence.UNMANAGED and row.reports.kyma not in ("", State.UNMANAGED):
        raise RefusedError(
            f"{row.keeper} has not released {name} yet: the Kyma reports {row.reports.kyma}",
            hint=f"`kymatui unmanage {name}` waits until it is released",
        )
    if row.managed:
        raise RefusedError(
            f"{name} is managed by {row.keeper}, which would revert the adoption",
            hint=f"run `kymatui unmanage {name}` first",
        )
    if version and row.installed and not same_version(row.installed, version):
        raise RefusedError(
            f"{name} {row.installed} is installed, so {version} cannot be adopted",
            hint=f"run `kymatui adopt {name}`, then `kymatui upgrade {name} --version {version}`",
        )
    return row


def is_lower_version(installed: str, version: str) -> bool:
    """Return whether the wanted version is lower than the installed one."""
    return (
        bool(installed and version)
        and not same_version(installed, version)
        and version_order(version) < version_order(installed)
    )
