"""Errors of component descriptors; their messages are bounded, for they quote what anybody may have written."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kubernetes.terminal_text import cut_text
from kymatui.errors import ConfigurationError, RefusedError

_LONGEST: Final = 600  # characters of a message


class DescriptorError(ConfigurationError):
    """A component descriptor is unreadable or uses unknown algorithms; the message names the field."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(cut_text(message, _LONGEST), hint=cut_text(hint, _LONGEST))


class SignatureError(RefusedError):
    """A signature is missing, untrusted, or does not match, so the component must not be used."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(cut_text(message, _LONGEST), hint=cut_text(hint, _LONGEST))


class PrivateKeyError(ConfigurationError):
    """A private key cannot be read, or is not of the kind that is needed; the message holds nothing of it."""
