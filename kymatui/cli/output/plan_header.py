"""The cluster in front of every plan, in each output format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kymatui.cli.output.printing import document, escaped

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


def plan_text(target: ClusterTarget, text: str, form: str) -> str:
    """Return a plan for people (table, md) with the cluster as its first line."""
    return f"{escaped(target.line) if form == 'md' else target.line}\n\n{text}"


def plan_document(target: ClusterTarget, value: Mapping[str, Any], form: str) -> str:
    """Return a plan as JSON or YAML; `target` names the cluster."""
    return document({"target": target.document, **value}, form)
