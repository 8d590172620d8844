"""lifecycle-manager's own configuration, as far as a person gives it: no cluster shows it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kymatui.domain.kyma.maintenance_windows import ControllerSettings, UnreadablePolicy, WindowPolicy, read_policy
from kymatui.errors import ConfigurationError

_LARGEST = 1024 * 1024  # bytes; as much as the ConfigMap that the policy comes from can have


def read_configured_rules(policy: str, restricted: Iterable[str]) -> ControllerSettings | None:
    """Return the configured maintenance policy and restricted modules; None if neither is set.

    Raises ConfigurationError for a file that is not there or that lifecycle-manager could not read either.
    """
    names = frozenset(restricted)
    if not policy and not names:
        return None
    return ControllerSettings(windows=_read(Path(policy).expanduser()) if policy else None, restricted=names)


def _read(path: Path) -> WindowPolicy:
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(f"the maintenance window policy {path} cannot be read: {reason}") from error
    found = read_policy(text)
    if isinstance(found, UnreadablePolicy):
        raise ConfigurationError(
            f"{path} is not a maintenance window policy: {found.reason}",
            hint="use lifecycle-manager's JSON file with rules and a default",
        )
    return found
