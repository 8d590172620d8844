"""What goes wrong with a patch."""

from __future__ import annotations

from kymatui.errors import InvalidError


class PatchFailedError(InvalidError):
    """A patch that does not fit; `status` is what the server answers with.

    422 with the server's general words (`str(error)` is for logs), 400 with the text, 500 with the text and no reason.
    """

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message, status=status)
