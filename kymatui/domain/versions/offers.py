"""The search for one offered version of a module."""

from __future__ import annotations

from msgspec import Struct

from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.kyma.versions import newest_version, same_version, version_order


class NoSuchModule(Struct, frozen=True):
    """The module is not offered; `alike` are names that contain the text."""

    module: str
    alike: tuple[str, ...]


class NoSuchVersion(Struct, frozen=True):
    """The module is offered in other versions only, the newest first."""

    module: str
    version: str
    offered: tuple[str, ...]


class AmbiguousOffer(Struct, frozen=True):
    """The version is offered in several namespaces, and none was selected."""

    module: str
    version: str
    places: tuple[str, ...]


OfferResult = ModuleTemplate | NoSuchModule | NoSuchVersion | AmbiguousOffer


def find_offer(shelf: TemplateIndex, module: str, version: str = "", namespace: str = "") -> OfferResult:
    """Return the template of a version or of the newest one; versions are compared as versions.

    A community template wins over one of Kyma's catalog with the same version: that one is for lifecycle-manager,
    and for a runtime it is on the control plane, where no option could select it.
    """
    offers = [t for t in shelf.offers(module) if not namespace or t.meta.namespace == namespace]
    if not offers:
        return NoSuchModule(module, tuple(sorted(name for name in shelf.by_module if module and module in name)))
    current = [template for template in offers if not shelf.is_superseded(template)] or offers
    wanted = version or newest_version([template.version for template in current if template.version])
    found = [template for template in offers if same_version(template.version, wanted)]
    if not found:
        known = sorted({template.version for template in offers if template.version}, key=version_order, reverse=True)
        return NoSuchVersion(module, wanted, tuple(known))
    found = [template for template in found if not shelf.is_kyma(template)] or found
    if len(found) > 1:
        places = tuple(sorted(f"{template.meta.namespace}/{template.meta.name}" for template in found))
        return AmbiguousOffer(module, wanted, places)
    return found[0]
