"""What a command changes that comes from Git: refused without `--override-gitops`, printed for the repository."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from kymatui.actions.git_sources import duration_line, read_durations
from kymatui.cli.output.printing import document
from kymatui.domain.gitops import GitChange, GitChanges, GitSource, git_document, git_warnings, repository_document
from kymatui.domain.kubernetes.terminal_text import sanitize, sanitize_lines
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import RefusedError

_MOST_BLOCKS: Final = 3  # changed objects that are printed below a plan for people


class GitReview:
    """What a command changes of what comes from Git; `written` returns the cluster to ask for the sources, if any."""

    def __init__(self, args: argparse.Namespace, written: Callable[[], Cluster] | None = None) -> None:
        self._overrides, self._written = getattr(args, "override_gitops", False), written
        self.changes: list[tuple[str, GitChange]] = []
        """Each change with the name of its item: a module, or a runtime."""
        self._asked: set[tuple[GitSource, bool]] = set()
        self._durations: dict[GitSource, str] = {}

    def refusal(self, name: str, changes: GitChanges) -> RefusedError | None:
        """Return why an item is refused, None where nothing of it comes from Git, or a person overrides it."""
        self.changes += ((name, change) for change in changes)
        if new := {(change.source, change.release) for change in changes} - self._asked:
            self._asked |= new
            named = {source for source, _ in new}  # with what earlier items change: a release decides for its objects
            all_changes = (change for _, change in self.changes if change.source in named)
            self._durations |= read_durations(all_changes, self._written() if self._written is not None else None)
        if self._overrides or not changes:
            return None
        (until, *more) = dict.fromkeys(self._durations[change.source] for change in changes)
        hint = f"--override-gitops makes it here, {until}{', or longer' if more else ''}"
        return RefusedError("; ".join(git_warnings(changes)), hint=hint, unchanged=True)

    def notices(self) -> tuple[str, ...]:
        """Return for how long changes last that are made."""
        durations = self._durations if self._overrides else {}
        return tuple(sanitize(duration_line(source, until)) for source, until in durations.items())

    def below(self, text: str, form: str) -> str:
        """Return the text of a plan with what the repositories have to say then, as YAML."""
        blocks = [block for name, change in self.changes if (block := self._block(name, change, form))]
        if len(blocks) > _MOST_BLOCKS:
            blocks = [f"-o json prints the {len(blocks)} changed objects for their repositories"]
        return "\n\n".join((text, *blocks))

    def documents(self) -> list[dict[str, Any]]:
        """Return `{"name", "source", "object", "manifest"}` of each change."""
        return [{"name": name, **git_document(change)} for name, change in self.changes]

    def _block(self, name: str, change: GitChange, form: str) -> str:
        body = repository_document(change)
        if body is None:
            return ""
        about = f" ({name})" if len({named for named, _ in self.changes}) > 1 else ""
        heading, text = f"for the repository of {change.source}{about}:", sanitize_lines(document(body, "yaml"))
        return f"{sanitize(heading)}\n\n" + (f"```yaml\n{text}\n```" if form == "md" else text)
