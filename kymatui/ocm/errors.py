"""Errors of component descriptors."""

from __future__ import annotations

from kymatui.errors import ConfigurationError, RefusedError


class DescriptorError(ConfigurationError):
    """A component descriptor is unreadable or uses unknown algorithms; the message names the field."""


class SignatureError(RefusedError):
    """A signature is missing, untrusted, or does not match, so the component must not be used."""


class PrivateKeyError(ConfigurationError):
    """A private key cannot be read, or is not of the kind that is needed; the message holds nothing of it."""
