"""Edits of a Kyma, deletions and campaigns over sessions. The sessions themselves are in `adapters.sessions`."""
