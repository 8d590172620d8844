"""The question before a write: the only place that reads an answer from standard input."""

from __future__ import annotations

import sys

from kymatui.cli.output.plan_changes import question_text
from kymatui.cli.output.printing import print_text
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.errors import RefusedError


def confirm(target: ClusterTarget, action: str, consequence: str = "", *, yes: bool) -> None:
    """Ask on standard error whether to do `action` ("Delete nats") in the cluster, unless `yes` was given.

    Raises RefusedError for any other answer than y or yes.
    """
    if yes:
        return
    if _answer(target, action, consequence, "[y/N]", "--yes").lower() not in ("y", "yes"):
        raise RefusedError("not confirmed; no changes made")


def confirm_by_typing(target: ClusterTarget, action: str, word: str, instead: str) -> str:
    """Return what a person types to confirm `action`; `instead` is the option that makes the question needless."""
    return _answer(target, action, "", f"Type {word} to confirm:", instead)


def _answer(target: ClusterTarget, action: str, consequence: str, keys: str, instead: str) -> str:
    """Return the answer to a question that ends with the possible answers (`keys`)."""
    if not sys.stdin.isatty():
        raise RefusedError("not a terminal; no changes made", hint=f"use {instead} to confirm")
    print_text(question_text(target, action, consequence, keys, sys.stderr), sys.stderr, end=" ")
    return sys.stdin.readline().strip()
