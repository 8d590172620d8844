"""The pull Secrets of a Manifest's layers, selected by labels (`credSecretSelector`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kymatui.domain.kubernetes.label_selectors import InvalidSelector, read_selector
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import Blobs, Cluster, Object
from kymatui.errors import ConfigurationError
from kymatui.operator.manifests.reconcile_context import ReconcileContext

SECRET: Final = GroupVersionKind("", "v1", "Secret")


def authenticated(site: ReconcileContext, manifest: Manifest) -> Callable[[Mapping[str, Any]], Blobs] | None:
    """Return a function that creates blobs with the selected Secrets; None if not supported."""
    make = site.authenticated
    if make is None:
        return None
    return lambda selector: make(pull_secrets(site.secrets or site.home, manifest.meta.namespace, selector))


def pull_secrets(home: Cluster, namespace: str, selector: Mapping[str, Any]) -> list[Object]:
    """Return the selected Secrets of a namespace. Raises ConfigurationError, and the port's errors."""
    chosen = read_selector(selector)
    if isinstance(chosen, InvalidSelector):
        raise ConfigurationError(f"credSecretSelector cannot be read: {chosen.reason}")
    if chosen.empty:
        raise ConfigurationError("credSecretSelector is empty", hint="an empty selector matches every Secret")
    labels = ",".join(one.written for one in chosen.requirements)
    found = home.list(SECRET, namespace, labels=labels)
    if not found:
        raise ConfigurationError(
            f"no auth secret found in {namespace}: no Secret is labelled {labels}",
            hint="credSecretSelector of the Manifest names one by its labels",
        )
    return found
