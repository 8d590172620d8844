"""What stands where a table of modules would."""

from __future__ import annotations

from typing import Final

from kymatui.domain.catalog.rows import Catalog

NO_MODULES: Final = "No modules: the cluster has no ModuleTemplates or ModuleReleaseMetas."


def no_modules(catalog: Catalog) -> str:
    """Return what is said in the place of an empty table."""
    why = catalog.modules_unknown
    return NO_MODULES if why is None else f"Modules: {why}"
