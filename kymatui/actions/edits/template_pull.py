"""Pull ModuleTemplates of catalogs outside of the cluster into a namespace, for every tool that reads them there.

items = plan_pulls(cluster, snapshot, ["keda"], "", "default")
run_batch(items, ObjectEditing(cluster), renderer)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kymatui.actions.edits.object_edit import ObjectItem, editable_fields, object_item, plan_object
from kymatui.actions.modules.install_plan import refuse_template_namespace, template_copy
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma.kymas import KYMA_NAMESPACE
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.domain.plans.direct_install import choose_template
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, Snapshot
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import KymatuiError, NotFoundError, UnknownNameError, UsageError


def outside_templates(snapshot: Snapshot) -> TemplateIndex:
    """Return the templates of the catalogs outside of the cluster, also those that the cluster has."""
    return index_templates((), (), KYMA_NAMESPACE, snapshot.outside)


def plan_pulls(
    cluster: Cluster, snapshot: Snapshot, names: Sequence[str], version: str, namespace: str
) -> list[ObjectItem]:
    """Plan the template of each module, without names of all; `version` is "" for the newest stable one of each.

    Raises UsageError for lifecycle-manager's namespace, and where no catalog offers anything.
    """
    refuse_template_namespace(namespace)
    offers = outside_templates(snapshot)
    if not offers.by_module:
        feeds = {name: feed for name, feed in snapshot.feeds.items() if name.startswith(CATALOG_FEED)}
        why = [
            f"{name.removeprefix(CATALOG_FEED)}: {feed.message or 'no ModuleTemplates'}" for name, feed in feeds.items()
        ]
        raise UsageError("; ".join(why) or "no catalog outside of the cluster", hint="name one with --catalog SOURCE")
    return [_planned(cluster, offers, name, version, namespace) for name in names or sorted(offers.by_module)]


def _planned(cluster: Cluster, offers: TemplateIndex, name: str, version: str, namespace: str) -> ObjectItem:
    choice = choose_template(offers, name, version, from_component=True)
    if isinstance(choice, str):
        words = choice if offers.offers(name) else f"{name} is not in a catalog outside of the cluster"
        return ObjectItem(name, refusal=UnknownNameError(words, hint="name another catalog with --catalog SOURCE"))
    body = template_copy(choice.template, namespace)
    try:
        live = cluster.get(read_ref(body))
        desired = body if live is None else _updated(live, body)
        return object_item(name, plan_object(cluster, live, body, desired))
    except KymatuiError as error:
        if isinstance(error, NotFoundError) and cluster.kind(read_ref(body).kind) is None:
            error.hint = "`kymatui operator crds` prints the CRDs of Kyma for `kubectl apply -f -`"
        return ObjectItem(name, refusal=error)


def _updated(live: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a template that exists with what the catalog has; labels and annotations of others stay."""
    metadata = editable_fields(live)["metadata"]
    for key in ("labels", "annotations"):
        if own := body["metadata"].get(key):
            metadata[key] = {**metadata.get(key, {}), **own}
    return {**body, "metadata": metadata}
