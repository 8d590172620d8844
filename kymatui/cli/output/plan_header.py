"""The cluster and the summary in front of every plan, in each output format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kymatui.cli.output.printing import document, escaped, wrapped
from kymatui.domain.kubernetes.terminal_text import sanitize

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


def plan_text(target: ClusterTarget, summary: str, text: str, form: str) -> str:
    """Return a plan for people (table, md): the cluster with the edited Kyma, the summary, then the tables."""
    lines = (*target.lines, sanitize(summary))
    head = [escaped(line) for line in lines] if form == "md" else [wrapped("\n".join(lines))]
    return "\n\n".join([*head, text] if text else head)


def plan_document(target: ClusterTarget, value: Mapping[str, Any], form: str) -> str:
    """Return a plan as JSON or YAML; `target` names the cluster."""
    return document({"target": target.document, **value}, form)
