"""Errors of patches."""

from __future__ import annotations

from kymatui.errors import InvalidError


class PatchFailedError(InvalidError):
    """A patch that cannot be applied; `status` is the HTTP status of the answer.

    422 has the server's generic message (`str(error)` is for logs), 400 has the text, 500 has the text and no reason.
    """

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message, status=status)
