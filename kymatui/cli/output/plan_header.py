"""The cluster in front of every plan and above every question, in each output format."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from kymatui.cli.output.colours import accented
from kymatui.cli.output.printing import document, escaped, wrapped
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.settings.config_file import load_settings

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


def plan_text(target: ClusterTarget, summary: str, text: str, form: str) -> str:
    """Return a plan for people (table, md): the cluster with the edited Kyma, the summary, then the tables."""
    if form == "md":
        head = [escaped(line) for line in (*target.lines, sanitize(summary))]
    else:
        head = [_in_accent(target, target.lines, sys.stdout) + "\n" + wrapped(sanitize(summary))]
    return "\n\n".join([*head, text] if text else head)


def question_text(target: ClusterTarget, action: str, consequence: str, keys: str, stream: TextIO) -> str:
    """Return a question below the line that every plan starts with: context, server, namespace and access.

    keys   the possible answers, such as `[y/N]`
    """
    head = _in_accent(target, [target.line], stream)
    return head + "\n" + wrapped(sanitize(f"{target.question(action, consequence)} {keys}"), stream)


def _in_accent(target: ClusterTarget, lines: Sequence[str], stream: TextIO) -> str:
    """Return the lines in the accent that the configuration file gives to the context."""
    return accented(load_settings(os.environ).context(target.context).accent, wrapped("\n".join(lines), stream))


def plan_document(target: ClusterTarget, value: Mapping[str, Any], form: str) -> str:
    """Return a plan as JSON or YAML; `target` names the cluster."""
    return document({"target": target.document, **value}, form)
