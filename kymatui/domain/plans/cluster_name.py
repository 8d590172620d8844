"""The name of a cluster in files of this machine, which tells it from another cluster that had the same context."""

from __future__ import annotations

from msgspec import Struct


class ClusterName(Struct, frozen=True):
    """A cluster as files of this machine name it; the identity is the uid of kube-system, "" if unknown."""

    name: str
    identity: str = ""

    def differs_from(self, own: ClusterName) -> str:
        """Return which other cluster this is, "" if it is the same as `own`, or if that is unknown.

        Identities decide, and names only where one of them is unknown: contexts are renamed, and clusters replaced.
        """
        if self.identity and own.identity:
            same, again = self.identity == own.identity, self.name == own.name
            return "" if same else f"another cluster that is also called {own.name}" if again else self.name
        return self.name if self.name not in ("", own.name) else ""
