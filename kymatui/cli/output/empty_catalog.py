"""What stands where a table of modules would."""

from __future__ import annotations

from kymatui.domain.catalog.rows import Catalog


def no_modules(catalog: Catalog) -> str:
    """Return what is said in the place of an empty table."""
    why = catalog.modules_unknown
    nothing = "No modules: the cluster has no ModuleTemplates or ModuleReleaseMetas."
    return nothing if why is None else f"Modules: {why}"
