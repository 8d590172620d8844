"""Catalog as table rows: one row per module, in the views by channel."""

from __future__ import annotations

from collections.abc import Container, Mapping

from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.modules.state_checks import ModuleSignature
from kymatui.lists.catalog import COLUMNS, OFFERED
from kymatui.lists.catalog_cells import CatalogEntry
from kymatui.lists.columns import cells_of
from kymatui.ui.presenters.catalog.catalog_views import CatalogView
from kymatui.ui.viewmodels.row_list import Row

_COLUMNS = (*COLUMNS, OFFERED)
_NO_SIGNATURES: Mapping[str, ModuleSignature] = {}


def table_rows(
    catalog: Catalog,
    view: CatalogView,
    now: float,
    *,
    stale: bool = False,
    only_problems: bool = False,
    namespace: str = "",
    pinned: Container[str] = (),
    signatures: Mapping[str, ModuleSignature] = _NO_SIGNATURES,
) -> list[Row]:
    """Return the rows of a view, by name; with a namespace those of modules that have objects in it."""
    return [
        table_row(module, view, now, stale=stale, pinned=module.name in pinned, signature=signatures.get(module.name))
        for module in sorted(catalog.releases if view.releases else catalog.rows, key=lambda module: module.name)
        if view.shows(module)
        and (not only_problems or module.name in catalog.problem_modules)
        and (not namespace or namespace in module.namespaces)
    ]


def table_row(
    module: ModuleRow,
    view: CatalogView,
    now: float,
    *,
    stale: bool = False,
    pinned: bool = False,
    signature: ModuleSignature | None = None,
) -> Row:
    """Return the row of one module; only the cell `offered` depends on the view."""
    entry = CatalogEntry(module, module.channels.get(view.channel, ""), signature)
    return Row(module.name, cells_of(_COLUMNS, entry, now), dim=stale, labels=_labels(module), pinned=pinned)


def _labels(module: ModuleRow) -> Mapping[str, str]:
    """Return the template's labels by full name and by the part after the slash."""
    template = module.resolution.template
    labels = template.meta.labels if template is not None else {}
    return {**{name.rpartition("/")[2]: value for name, value in labels.items()}, **labels}
