"""lifecycle-manager's configuration, where it can be read: from the settings, else out of its Deployment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import CONFIG_MAP, CRD, DEPLOYMENT, ObjectRef
from kymatui.domain.kyma.controller_flags import POLICY_KEY, ControllerFlags, read_controller_flags
from kymatui.domain.kyma.field_defaults import FieldSchema, read_field_schema
from kymatui.domain.kyma.maintenance_windows import ControllerSettings, UnreadablePolicy, WindowPolicy, read_policy
from kymatui.engine.cluster.request_scope import optional_requests
from kymatui.errors import ClusterError, ConfigurationError
from kymatui.sessions.cluster.session_options import SessionOptions

FoundRules = tuple[ControllerSettings, tuple[str, ...]]
"""The rules, and in sentences where they come from and what of them is not known."""
_CATALOG: Final = {"ModuleTemplate": "moduletemplates", "ModuleReleaseMeta": "modulereleasemetas"}
_VERSION: Final = "v1beta2"


def read_controller_rules(home: KubeCluster, namespace: str, options: SessionOptions) -> FoundRules:
    """Return lifecycle-manager's settings; the user's options override the cluster's.

    The rest is read from lifecycle-manager's Deployment in the Kymas' namespace and the ConfigMap that it mounts.
    Raises ConfigurationError for a configured file that is no policy.
    """
    configured = read_configured_rules(options.maintenance_policy, options.restricted_modules) or ControllerSettings()
    with optional_requests():
        settings, notes = _found_rules(home, namespace, options, configured)
        return replace(settings, schemas=_read_schemas(home)), notes


def _read_schemas(home: KubeCluster) -> Mapping[str, FieldSchema]:
    """Return the schemas of the catalog's CRDs; without the right to read them, none."""
    schemas = {}
    for kind, plural in _CATALOG.items():
        with contextlib.suppress(ClusterError):
            raw = home.get(ObjectRef(CRD, "", f"{plural}.{OPERATOR}"))
            if raw is not None and (schema := read_field_schema(raw, _VERSION)) is not None:
                schemas[kind] = schema
    return schemas


def _found_rules(
    home: KubeCluster, namespace: str, options: SessionOptions, configured: ControllerSettings
) -> FoundRules:
    notes = [f"maintenance window policy: {options.maintenance_policy}"] if configured.windows else []
    try:
        flags = _flags(home, namespace)
    except ClusterError as error:  # the screen works without it, and says what is unknown
        return configured, (*notes, f"the maintenance window policy is unknown: {error}")
    if flags is None:
        problem = (
            "the maintenance window policy is unknown: neither lifecycle-manager nor kymatui's operator has a "
            f"Deployment with one in {namespace}"
        )
        return configured, (*notes, problem)
    windows = configured.windows
    if windows is None:
        windows, note = _policy(home, namespace, flags)
        notes.append(note)
    return ControllerSettings(windows, configured.restricted or flags.restricted, flags.least), tuple(notes)


def _flags(home: KubeCluster, namespace: str) -> ControllerFlags | None:
    """Return the flags of lifecycle-manager, preferably of the Deployment that mounts a policy."""
    deployed = [
        flags
        for raw in home.list(DEPLOYMENT, namespace, with_managed_fields=True)
        if (flags := read_controller_flags(raw))
    ]
    return min(deployed, key=lambda flags: (not flags.policy, flags.deployment), default=None)


def _policy(home: KubeCluster, namespace: str, flags: ControllerFlags) -> tuple[WindowPolicy | None, str]:
    if not flags.policy:
        return None, f"{flags.deployment} mounts no maintenance window policy"
    ref = ObjectRef(CONFIG_MAP, namespace, flags.policy)
    try:
        raw = home.get(ref)
    except ClusterError as error:
        return None, f"the maintenance window policy is unknown: {error}"
    text = ((raw or {}).get("data") or {}).get(POLICY_KEY)
    if not isinstance(text, str):
        return None, f"{ref}, which {flags.deployment} mounts, has no {POLICY_KEY}"
    policy = read_policy(text)
    if isinstance(policy, UnreadablePolicy):
        return None, f"{ref} is not a maintenance window policy: {policy.reason}"
    return policy, f"maintenance window policy: {ref}"


_LARGEST = 1024 * 1024  # bytes; as much as the ConfigMap that the policy comes from can have


def read_configured_rules(policy: str, restricted: Iterable[str]) -> ControllerSettings | None:
    """Return the configured maintenance policy and restricted modules; None if neither is set.

    Raises ConfigurationError for a file that is not there or that lifecycle-manager could not read either.
    """
    names = frozenset(restricted)
    if not policy and not names:
        return None
    return ControllerSettings(windows=_read(Path(policy).expanduser()) if policy else None, restricted=names)


def _read(path: Path) -> WindowPolicy:
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(f"the maintenance window policy {path} cannot be read: {reason}") from error
    policy = read_policy(text)
    if isinstance(policy, UnreadablePolicy):
        raise ConfigurationError(
            f"{path} is not a maintenance window policy: {policy.reason}",
            hint="use lifecycle-manager's JSON file with rules and a default",
        )
    return policy
