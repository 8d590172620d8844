"""The kinds of objects that must be deleted before a module's manager."""

from __future__ import annotations

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.module_templates import ModuleTemplate


def associated_kinds(template: ModuleTemplate) -> tuple[GroupVersionKind, ...]:
    """Return the kinds that a template declares, plus the module CR's kind; never the Kyma."""
    own = template.resource_kind
    kinds = (*template.associated, *((own,) if own is not None else ()))
    return tuple(dict.fromkeys(kind for kind in kinds if kind.kind and kind.kind != "Kyma"))
