"""JSON web tokens: what they say of themselves. Signatures are the API server's to verify."""

from __future__ import annotations

import base64

from kymatui.json_input import read_json

_LATEST = 253_402_300_800  # the year 10000 in Unix seconds


def jwt_expiry(token: str) -> float | None:
    """Return the `exp` of a JSON web token in Unix seconds."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = read_json(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:  # an opaque token has no expiry that a client can read
        return None
    expiry = claims.get("exp") if isinstance(claims, dict) else None
    # Moments before 1970 or after the year 9999 are no expiry, and no calendar has them.
    return float(expiry) if isinstance(expiry, int | float) and 0 <= expiry < _LATEST else None
