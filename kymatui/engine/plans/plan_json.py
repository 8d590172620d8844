"""Plans and bundles as JSON and back: what was reviewed is what is carried out, on another machine and another day.

A document holds the objects as they will be sent, Secrets too: keep it like them. `plan.Step` never displays their
values.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec

from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.plans.plan import Plan
from kymatui.errors import ConfigurationError

PLAN_SCHEMA: Final = "kymatui.io/plan/v1"


def plan_to_json(plan: Plan) -> bytes:
    """The whole plan as a JSON document."""
    return msgspec.json.encode({"schema": PLAN_SCHEMA, "plan": msgspec.to_builtins(plan)}, order="deterministic")


def plan_from_json(text: bytes | str) -> Plan:
    """A plan out of `plan_to_json`; raises ConfigurationError that says what is wrong with it."""
    try:
        document = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"this is no plan: {error}") from error
    schema = document.get("schema")
    if schema != PLAN_SCHEMA:
        raise ConfigurationError(
            f"this is no plan of this version of kymatui: its schema is {schema!r}, wanted {PLAN_SCHEMA!r}",
            hint="make the plan again",
        )
    try:
        return msgspec.convert(document.get("plan"), Plan)
    except msgspec.ValidationError as error:
        raise ConfigurationError(f"this plan cannot be read: {error}") from error


def bundle_digest(bundle: Bundle) -> str:
    """What a bundle installs, in 64 hexadecimal digits: two with the same digest leave the same in a cluster."""
    content = (
        bundle.name,
        bundle.namespace,
        bundle.version,
        bundle.objects,
        bundle.crds,
        bundle.hooks,
        bundle.defaults,
        dict(bundle.labels),
        (bundle.release.manifest, dict(bundle.release.config)) if bundle.release else None,
    )
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()
