"""What can be wrong with a component descriptor."""

from __future__ import annotations

from kymatui.errors import ConfigurationError, RefusedError


class DescriptorError(ConfigurationError):
    """A component descriptor cannot be read, or asks for what is not known; the text names the field."""


class SignatureError(RefusedError):
    """A signature is missing, is not by the key that is trusted, or is of something else. Nothing may be used."""
