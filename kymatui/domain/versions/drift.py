"""Drift: the relation of the installed to the expected version."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.versions import Distance, parse_version, same_version, version_distance
from kymatui.domain.versions.refusals import HeldBack, Refusal, WaitsForWindow, WindowsUnreadable


class DriftKind(StrEnum):
    """The kinds of drift in the words of tables; NONE means not compared: not installed, or off its channel."""

    UP_TO_DATE = "up-to-date"
    BEHIND = "behind"
    AHEAD = "ahead"
    NEWER_THAN_CHANNEL = "newer-than-channel"  # lifecycle-manager's downgrade guard keeps the installed version
    AWAITING_WINDOW = "awaiting-window"
    ROLLING_OUT = "rolling-out"
    INCOMPLETE = "incomplete"  # an installation or a deletion was interrupted
    UNKNOWN = "unknown"
    NONE = "none"

    @property
    def earlier_word(self) -> str:
        """Return the word of documents before they had those of tables."""
        return _EARLIER_WORDS.get(self, self.value)


_EARLIER_WORDS: Final = {
    DriftKind.UP_TO_DATE: "in-sync",
    DriftKind.NEWER_THAN_CHANNEL: "channel-skew",
    DriftKind.AWAITING_WINDOW: "pending-maintenance",
}


class Drift(Struct, frozen=True):
    """The drift, the distance of the versions, and the awaited maintenance window, if known.

    `is_offered` is False if no catalog has any version to compare with.
    """

    kind: DriftKind
    distance: Distance | None = None
    window: MaintenanceWindow | None = None
    is_offered: bool = True

    @property
    def is_drift(self) -> bool:
        """Return whether the installed version is known to differ from the expected one; not during a rollout."""
        return self.kind not in (DriftKind.UP_TO_DATE, DriftKind.NONE, DriftKind.UNKNOWN, DriftKind.ROLLING_OUT)


def compute_drift(
    installed: str,
    desired: str,
    *,
    follows: bool = True,
    refusal: Refusal | None = None,
    maintenance: bool = False,
    window: MaintenanceWindow | None = None,
    rolling: bool = False,
) -> Drift:
    """Compute the drift, for fleet and catalog.

    `follows` comes from the module's presence, `maintenance` from the Kyma's status; `rolling` means that old and
    new pods coexist.
    """
    if not follows:
        known = bool(installed and desired)
        return Drift(DriftKind.UP_TO_DATE if known and same_version(installed, desired) else DriftKind.NONE)
    if not installed or not desired:
        return Drift(DriftKind.UNKNOWN)
    apart = version_distance(installed, desired)
    if same_version(installed, desired):
        return Drift(DriftKind.ROLLING_OUT if rolling else DriftKind.UP_TO_DATE)
    # the guard compares the reported version; the drift is about the installed one, which may be older
    if isinstance(refusal, HeldBack) and _compared(installed, desired, apart).kind is not DriftKind.BEHIND:
        return Drift(DriftKind.NEWER_THAN_CHANNEL, apart)
    if isinstance(refusal, WaitsForWindow):
        return Drift(DriftKind.AWAITING_WINDOW, apart, refusal.window)
    if maintenance or isinstance(refusal, WindowsUnreadable):
        return Drift(DriftKind.AWAITING_WINDOW, apart, window)
    if rolling:
        return Drift(DriftKind.ROLLING_OUT, apart)
    return _compared(installed, desired, apart)


def _compared(installed: str, desired: str, apart: Distance | None) -> Drift:
    have, want = parse_version(installed), parse_version(desired)
    if have is None or want is None:
        return Drift(DriftKind.UNKNOWN)
    return Drift(DriftKind.BEHIND if have < want else DriftKind.AHEAD, apart)
