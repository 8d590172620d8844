"""What a module still manages: the objects that must be gone before its manager may go."""

from __future__ import annotations

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.module_templates import ModuleTemplate


def associated_kinds(template: ModuleTemplate) -> tuple[GroupVersionKind, ...]:
    """The kinds that a module declares, and the kind of its own resource; never the Kyma itself."""
    own = template.resource_kind
    kinds = (*template.associated, *((own,) if own is not None else ()))
    return tuple(dict.fromkeys(kind for kind in kinds if kind.kind and kind.kind != "Kyma"))
