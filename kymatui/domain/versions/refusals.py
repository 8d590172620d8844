"""Refusals: why a module has no usable template. `refusal_words` turns them into sentences."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.missing_lists import UnknownFact


class Refusal(Struct, frozen=True):
    """A refusal of a module."""

    module: str

    STATE: ClassVar[State] = State.ERROR
    KEEPS_INSTALLED: ClassVar[bool] = False
    UNINSTALLS: ClassVar[bool] = False

    @property
    def state(self) -> State:
        """Return the state that lifecycle-manager reports if the module was not installed before."""
        return self.STATE

    @property
    def keeps_installed(self) -> bool:
        """Return whether the installed module stays as it is."""
        return self.KEEPS_INSTALLED

    @property
    def uninstalls(self) -> bool:
        """Return whether lifecycle-manager deletes the module's Manifest and so the module."""
        return self.UNINSTALLS


class ChannelIsNone(Refusal, frozen=True):
    """The channel is the word none; `where` is the field."""

    where: str


class ChannelAndVersion(Refusal, frozen=True):
    """Channel and version are both set, which is invalid."""

    channel: str
    version: str


class StatusWithoutTemplate(Refusal, frozen=True):
    """The module is only in the status, which does not name its template."""


class NoReleaseMeta(Refusal, frozen=True):
    """No ModuleReleaseMeta and no old-style template has the module."""

    namespace: str
    installed_before: bool = False

    @property
    def state(self) -> State:
        return State.WARNING if self.installed_before else State.ERROR

    @property
    def keeps_installed(self) -> bool:
        return self.installed_before


class CatalogUnreadable(Refusal, frozen=True):
    """The module was not found, and lists that could have it are missing."""

    why: UnknownFact

    STATE: ClassVar[State] = State.UNKNOWN


class ChannelUnknown(Refusal, frozen=True):
    """The list of Kymas, which has the channel, is missing."""

    why: UnknownFact

    STATE: ClassVar[State] = State.UNKNOWN


class NoChannels(Refusal, frozen=True):
    """The ModuleReleaseMeta has no channels."""


class ChannelMissing(Refusal, frozen=True):
    """The ModuleReleaseMeta has only other channels."""

    channel: str
    offered: tuple[str, ...]


class TemplateMissing(Refusal, frozen=True):
    """The channel has a version without a template."""

    version: str
    name: str
    namespace: str


class AmbiguousTemplates(Refusal, frozen=True):
    """Several old-style templates match."""

    channel: str
    candidates: tuple[str, ...]


class NoTemplateInChannel(Refusal, frozen=True):
    """No old-style template is in the channel."""

    channel: str
    offered: tuple[str, ...]

    STATE: ClassVar[State] = State.WARNING


class TemplateWithoutChannel(Refusal, frozen=True):
    """An old-style template of the module has no channel."""

    template: str


class IsMandatory(Refusal, frozen=True):
    """The template is mandatory: it is installed everywhere and cannot be requested."""

    template: str

    STATE: ClassVar[State] = State.WARNING


class NotAllowed(Refusal, frozen=True):
    """The Kyma may not have the module; lifecycle-manager uninstalls it."""

    UNINSTALLS: ClassVar[bool] = True


class InternalOnly(NotAllowed, frozen=True):
    """The module is internal, and the Kyma lacks the internal label."""


class BetaOnly(NotAllowed, frozen=True):
    """The module is beta, and the Kyma lacks the beta label."""


class SelectorWithoutRestriction(NotAllowed, frozen=True):
    """The module has a selector but is not configured as restricted."""


class RestrictedWithoutSelector(NotAllowed, frozen=True):
    """The module is restricted, and its ModuleReleaseMeta has no selector or an empty one."""


class RestrictedToOthers(NotAllowed, frozen=True):
    """The module is restricted, and its selector does not match the Kyma."""


class SelectorInvalid(NotAllowed, frozen=True):
    """The module is restricted, and its selector is invalid."""

    reason: str


class KeepsInstalled(Refusal, frozen=True):
    """lifecycle-manager keeps the installed version and reports a warning."""

    STATE: ClassVar[State] = State.WARNING
    KEEPS_INSTALLED: ClassVar[bool] = True


class HeldBack(KeepsInstalled, frozen=True):
    """The channel's version is lower than the installed one (downgrade guard)."""

    to_channel: str
    installed: str
    offered: str


class InvalidVersion(KeepsInstalled, frozen=True):
    """A version is invalid, so the guard cannot compare it; `where` is "status" or "template"."""

    where: str
    version: str


class WaitsForWindow(KeepsInstalled, frozen=True):
    """The new version needs downtime; `window` is None if the policy is unknown."""

    installed: str
    offered: str
    window: MaintenanceWindow | None


class WindowsUnreadable(KeepsInstalled, frozen=True):
    """The new version needs downtime, and the policy is unreadable or has no window."""

    reason: str

    STATE: ClassVar[State] = State.ERROR
