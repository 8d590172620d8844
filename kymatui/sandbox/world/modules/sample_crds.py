"""CRDs of sample modules and of the kinds that their users create."""

from __future__ import annotations

from kymatui.sandbox.world.modules.schema_builders import (
    AGE_COLUMN,
    ANYTHING,
    INTEGER,
    STATE_COLUMN,
    STRING,
    Schema,
    choice,
    conditions,
    definition,
    record,
    version_of,
)

STATES = ("", "Processing", "Deleting", "Ready", "Error", "Warning", "Unmanaged")


def module_definition(group: str, kind: str, plural: str, version: str) -> Schema:
    """Return the CRD of a module CR: any spec, and a status with state and conditions."""
    status = {
        **record(
            {"state": choice(STATES), "conditions": conditions(), "served": STRING, "observedGeneration": INTEGER}
        ),
        "x-kubernetes-preserve-unknown-fields": True,
    }
    main_version = version_of(version, ANYTHING, status, columns=(STATE_COLUMN, AGE_COLUMN))
    return definition(group, kind, plural, [main_version], categories=["kyma-modules"])


def user_definition(group: str, kind: str, plural: str, version: str) -> Schema:
    """Return the CRD of a kind that users create: any spec, and a status column."""
    known = record({"state": STRING, "conditions": conditions()})
    status = {**known, "x-kubernetes-preserve-unknown-fields": True}
    ready = {"name": "Status", "type": "string", "jsonPath": ".status.state"}
    return definition(group, kind, plural, [version_of(version, ANYTHING, status, columns=(ready, AGE_COLUMN))])
