"""What a command changes that comes from Git: refused without `--override-gitops`, printed for the repository."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from kymatui.actions.git_sources import duration_lines, require_override
from kymatui.cli.output.printing import document
from kymatui.domain.gitops import git_documents, repository_document
from kymatui.domain.kubernetes.terminal_text import sanitize, sanitize_lines

if TYPE_CHECKING:
    from kymatui.domain.gitops import Changed, GitChange
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.errors import RefusedError

_MOST_BLOCKS: Final = 3  # changed objects that are printed below a plan for people


class GitReview:
    """What a command changes of what comes from Git; `written` returns the cluster to ask for the sources, if any."""

    def __init__(self, args: argparse.Namespace, written: Callable[[], Cluster] | None = None) -> None:
        self._overrides, self._written = getattr(args, "override_gitops", False), written
        self.changes: Changed = ()

    def refusal(self, changes: Changed) -> RefusedError | None:
        """Return why a plan is refused, None where nothing of it comes from Git, or a person overrides it."""
        self.changes += changes
        return None if self._overrides or not changes else require_override(changes, self._cluster())

    def notices(self) -> tuple[str, ...]:
        """Return for how long changes last that are made."""
        return tuple(map(sanitize, duration_lines(self.changes, self._cluster()))) if self._overrides else ()

    def below(self, text: str, form: str) -> str:
        """Return the text of a plan with the changed objects as YAML for their repositories."""
        blocks = list(filter(None, [self._block(change, form) for change in self.changes]))
        if len(blocks) > _MOST_BLOCKS:
            blocks = [f"-o json prints the {len(blocks)} changed objects for their repositories"]
        return "\n\n".join((text, *blocks))

    def documents(self) -> list[dict[str, Any]]:
        return git_documents(self.changes)

    def _block(self, change: GitChange, form: str) -> str:
        body = repository_document(change)
        if body is None:
            return ""
        heading, text = sanitize(f"for the repository of {change.source}:"), sanitize_lines(document(body, "yaml"))
        return f"{heading}\n\n```yaml\n{text}\n```" if form == "md" else f"{heading}\n\n{text}"

    def _cluster(self) -> Cluster | None:
        return self._written() if self.changes and self._written is not None else None
