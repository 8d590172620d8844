"""The question before something is written."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kymatui.cli.output.plan_header import question_text
from kymatui.cli.output.printing import print_text
from kymatui.errors import CancelledError, RefusedError

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


@contextmanager
def no_changes_on_interrupt() -> Iterator[None]:
    """Turn an interrupt into an error which says that nothing was changed; for steps without writes."""
    try:
        yield
    except KeyboardInterrupt:
        raise CancelledError("interrupted; no changes made") from None


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
