"""Kyma's five CRDs, with the fields of the real ones and new descriptions."""

from __future__ import annotations

from kymatui.sandbox.world.modules.schema_builders import (
    AGE_COLUMN,
    ANYTHING,
    BOOLEAN,
    EMBEDDED,
    INTEGER,
    STATE_COLUMN,
    STRING,
    STRINGS,
    TIME,
    Schema,
    choice,
    conditions,
    definition,
    items,
    record,
    selector,
    text,
    version_of,
)

GROUP = "operator.kyma-project.io"
STATES = ("", "Processing", "Deleting", "Ready", "Error", "Warning", "Unmanaged")
POLICY = choice(["CreateAndDelete", "Ignore"], default="CreateAndDelete")
CHANNEL = text("A release channel.", pattern="^[a-z]+$", minLength=3, maxLength=32)
OLD_CHANNEL = text("The channel of an old template; new ones have a version.", pattern="^$|^[a-z]{3,}$", maxLength=32)
MODULE_NAME = text("The module's name.", pattern="^([a-z]{3,}(-[a-z]{3,})*)?$", maxLength=64)
_NUMBER = r"(0|[1-9]\d*)"
VERSION = text(
    "A semantic version whose suffix has neither dots nor a digit in front.",
    pattern=rf"^({_NUMBER}\.{_NUMBER}\.{_NUMBER}(-[a-zA-Z-][0-9a-zA-Z-]*)?)?$",
    maxLength=32,
)
_IDENTIFIER = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
FULL_VERSION = text(
    "Any semantic version.",
    pattern=rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$",
    minLength=1,
)
COMPONENT = text(
    "The name of the component that holds the module.",
    pattern=r"^[a-z][-a-z0-9]*([.][a-z][-a-z0-9]*)*[.][a-z]{2,}(/[a-z][-a-z0-9_]*([.][a-z][-a-z0-9_]*)*)+$",
    maxLength=255,
)
STATE_COLUMNS = (STATE_COLUMN, AGE_COLUMN)


def _operation() -> Schema:
    return record({"operation": STRING, "lastUpdateTime": TIME}, ["operation"])


def _reference() -> Schema:
    metadata = record({"name": STRING, "namespace": STRING, "generation": INTEGER})
    return record({"apiVersion": STRING, "kind": STRING, "metadata": metadata})


def _manager() -> Schema:
    fields = dict.fromkeys(("group", "version", "kind", "name", "namespace"), STRING)
    return record(fields, ["group", "version", "kind", "name"], description="What runs when the module is installed.")


def _group_version_kind() -> Schema:
    return record(dict.fromkeys(("group", "version", "kind"), STRING), ["group", "version", "kind"])


def _named_link(*, uri: bool) -> Schema:
    link = text(format="uri") if uri else STRING
    return items(record({"name": STRING, "link": link}, ["name", "link"]), "name")


def kyma() -> Schema:
    module = record(
        {
            "name": text("The module to have in this cluster."),
            "channel": CHANNEL,
            "customResourcePolicy": POLICY,
            "managed": {**BOOLEAN, "default": True},
            "controller": STRING,
            "remoteModuleTemplateRef": STRING,
        },
        ["name"],
    )
    spec = record(
        {"channel": CHANNEL, "skipMaintenanceWindows": BOOLEAN, "modules": items(module, "name")}, ["channel"]
    )
    tracked = record(
        {
            "name": STRING,
            "state": choice(STATES),
            "channel": STRING,
            "version": STRING,
            "message": STRING,
            "fqdn": STRING,
            "ocmComponentName": STRING,
            "maintenance": {**BOOLEAN, "default": False},
            "manifest": _reference(),
            "template": _reference(),
            "resource": _reference(),
        },
        ["name", "state"],
    )
    status = record(
        {
            "state": choice(STATES),
            "activeChannel": STRING,
            "conditions": conditions(),
            "lastOperation": _operation(),
            "modules": items(tracked),
        }
    )
    return definition(GROUP, "Kyma", "kymas", [version_of("v1beta2", spec, status, columns=STATE_COLUMNS)])


def _image() -> Schema:
    kinds = choice(["helm-chart", "oci-ref", "kustomize", ""])
    return record({"repo": STRING, "name": STRING, "ref": STRING, "type": kinds, "credSecretSelector": selector()})


def _install() -> Schema:
    return record({"name": STRING, "source": ANYTHING}, ["name", "source"])


def manifest() -> Schema:
    """Return the Manifest CRD; a CRD stores one set of fields, so each version keeps the other's fields."""
    resource = {**EMBEDDED, "nullable": True}
    shared: dict[str, Schema] = {"config": _image(), "crds": _image(), "installs": items(_install())}
    spec = record(
        {
            **shared,
            "remote": BOOLEAN,
            "version": STRING,
            "customResourcePolicy": POLICY,
            "install": _install(),
            "resource": resource,
            "localizedImages": items(STRING),
            "manager": _manager(),
        },
        ["install", "remote"],
    )
    synced = record(
        dict.fromkeys(("group", "version", "kind", "name", "namespace"), STRING),
        ["group", "version", "kind", "name", "namespace"],
    )
    status = record(
        {
            "state": choice(STATES),
            "conditions": conditions(),
            "lastOperation": _operation(),
            "synced": items(synced, **{"x-kubernetes-list-type": "atomic"}),
            "observedGeneration": INTEGER,
        },
    )
    old_spec = record({**shared, "remote": {**BOOLEAN, "default": True}, "resource": ANYTHING}, ["installs"])
    old_condition = record(
        {
            "type": STRING,
            "status": choice(["True", "False", "Unknown"]),
            "reason": STRING,
            "message": STRING,
            "lastTransitionTime": TIME,
            "installInfo": record(dict.fromkeys(("chartName", "clientConfig", "overrides"), STRING)),
        },
        ["type", "status"],
    )
    old_status = record(
        {**status["properties"], "conditions": items(old_condition)},
        ["state"],
    )
    return definition(
        GROUP,
        "Manifest",
        "manifests",
        [
            version_of("v1beta2", spec, status, columns=STATE_COLUMNS),
            version_of(
                "v1alpha1",
                old_spec,
                old_status,
                storage=False,
                columns=STATE_COLUMNS,
                required=["metadata", "spec"],
            ),
        ],
    )


def module_template() -> Schema:
    check = record(
        {"jsonPath": STRING, "value": STRING, "mappedState": choice(STATES)}, ["jsonPath", "value", "mappedState"]
    )
    info = record(
        {"repository": STRING, "documentation": STRING, "icons": _named_link(uri=False)},
        ["repository", "documentation"],
    )
    spec = record(
        {
            "channel": OLD_CHANNEL,
            "version": VERSION,
            "moduleName": MODULE_NAME,
            "mandatory": BOOLEAN,
            "requiresDowntime": BOOLEAN,
            "data": EMBEDDED,
            "descriptor": ANYTHING,
            "customStateCheck": items(check),
            "resources": _named_link(uri=True),
            "info": info,
            "associatedResources": items(_group_version_kind()),
            "manager": _manager(),
        },
        ["descriptor"],
    )
    return definition(
        GROUP, "ModuleTemplate", "moduletemplates", [version_of("v1beta2", spec, None)], short_names=["mt"]
    )


def module_release_meta() -> Schema:
    entry = record({"channel": CHANNEL, "version": VERSION}, ["channel", "version"])
    spec = record(
        {
            "moduleName": MODULE_NAME,
            "ocmComponentName": COMPONENT,
            "channels": items(entry, "channel"),
            "mandatory": record({"version": FULL_VERSION}, ["version"]),
            "beta": {**BOOLEAN, "default": False},
            "internal": {**BOOLEAN, "default": False},
            "kymaSelector": selector(),
        },
        ["moduleName"],
        **{
            "x-kubernetes-validations": [
                {
                    "rule": "(has(self.mandatory) && !has(self.channels))"
                    " || (!has(self.mandatory) && has(self.channels))",
                    "message": "exactly one of 'mandatory' or 'channels' must be specified",
                }
            ]
        },
    )
    return definition(
        GROUP, "ModuleReleaseMeta", "modulereleasemetas", [version_of("v1beta2", spec, None)], short_names=["mrm"]
    )


def watcher() -> Schema:
    service = record({"name": STRING, "namespace": STRING, "port": INTEGER}, ["name", "namespace", "port"])
    watched = record(dict.fromkeys(("group", "version", "resource"), STRING), ["group", "version", "resource"])
    spec = record(
        {
            "manager": STRING,
            "serviceInfo": service,
            "labelsToWatch": STRINGS,
            "resourceToWatch": watched,
            "field": choice(["spec", "status"]),
            "gateway": record({"selector": selector()}, ["selector"]),
        },
        ["serviceInfo", "resourceToWatch", "field", "gateway"],
    )
    status = record({"state": choice(STATES), "conditions": conditions(), "observedGeneration": INTEGER})
    return definition(GROUP, "Watcher", "watchers", [version_of("v1beta2", spec, status)])


def kyma_definitions() -> list[Schema]:
    """Return all five CRDs in order of creation."""
    return [kyma(), manifest(), module_template(), module_release_meta(), watcher()]


def module_definition(group: str, kind: str, plural: str, version: str) -> Schema:
    """Return the CRD of a module CR: any spec, and a status with state and conditions."""
    status = {
        **record(
            {"state": choice(STATES), "conditions": conditions(), "served": STRING, "observedGeneration": INTEGER}
        ),
        "x-kubernetes-preserve-unknown-fields": True,
    }
    made = version_of(version, ANYTHING, status, columns=STATE_COLUMNS)
    return definition(group, kind, plural, [made], categories=["kyma-modules"])


def user_definition(group: str, kind: str, plural: str, version: str) -> Schema:
    """Return the CRD of a kind that users create: any spec, and a status column."""
    known = record({"state": STRING, "conditions": conditions()})
    status = {**known, "x-kubernetes-preserve-unknown-fields": True}
    ready = {"name": "Status", "type": "string", "jsonPath": ".status.state"}
    return definition(group, kind, plural, [version_of(version, ANYTHING, status, columns=(ready, AGE_COLUMN))])
