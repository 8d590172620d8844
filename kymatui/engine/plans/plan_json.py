"""Plans and bundles as JSON: a reviewed plan can be applied later and on another machine.

A document has the objects as they will be sent, including Secrets, so store it like a Secret. `plan.Step` never
displays their values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from kymatui.domain.kubernetes.terminal_text import cut_text
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.plans.plan import Plan
from kymatui.errors import ConfigurationError
from kymatui.json_input import JsonInputError, read_json
from kymatui.structs import resolved_type

PLAN_SCHEMA: Final = "kymatui.io/plan/v1"
MOST_VALUES: Final = 2_000_000
"""Values in a plan: 20,000 objects, with all that a plan has of each."""
_LONGEST_SCHEMA: Final = 60  # characters of it in a message


def plan_to_json(plan: Plan) -> bytes:
    """Return the plan as a JSON document."""
    return msgspec.json.encode({"schema": PLAN_SCHEMA, "plan": msgspec.to_builtins(plan)}, order="deterministic")


def plan_from_json(text: bytes | str) -> Plan:
    """Parse a plan. Raises ConfigurationError with the fault."""
    try:
        document = read_json(text, most=MOST_VALUES)
    except JsonInputError as error:
        raise ConfigurationError(f"this file is not a plan: {error}") from None
    return plan_from_document(document)


def plan_from_document(document: object) -> Plan:
    """Return the plan of a decoded document. Raises ConfigurationError with the fault."""
    schema = document.get("schema") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or not isinstance(schema, str):
        raise ConfigurationError("this file is not a plan: it has no schema")
    if schema != PLAN_SCHEMA:
        shown = cut_text(schema, _LONGEST_SCHEMA)
        raise ConfigurationError(
            f"this plan is of another version of kymatui: its schema is {shown!r}, expected {PLAN_SCHEMA!r}",
            hint="plan again",
        )
    try:
        return msgspec.convert(document.get("plan"), resolved_type(Plan))
    except (msgspec.ValidationError, RecursionError) as error:
        raise ConfigurationError(f"this plan cannot be read: {error}") from error


def bundle_digest(bundle: Bundle) -> str:
    """Return a SHA-256 in hexadecimal of what a bundle installs; the same digest means the same result."""
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
