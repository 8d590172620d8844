"""Refusals: why a module has no usable template. `refusal_words` turns them into sentences."""

from __future__ import annotations

from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.missing_lists import UnknownFact
from kymatui.first_use import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal of a module."""

    module: str

    @property
    def state(self) -> State:
        """Return the state that lifecycle-manager reports if the module was not installed before."""
        return State.ERROR

    @property
    def keeps_installed(self) -> bool:
        """Return whether the installed module stays as it is."""
        return False

    @property
    def uninstalls(self) -> bool:
        """Return whether lifecycle-manager deletes the module's Manifest and so the module."""
        return False


@dataclass(frozen=True, slots=True)
class ChannelIsNone(Refusal):
    """The channel is the word none; `where` is the field."""

    where: str


@dataclass(frozen=True, slots=True)
class ChannelAndVersion(Refusal):
    """Channel and version are both set, which is invalid."""

    channel: str
    version: str


@dataclass(frozen=True, slots=True)
class StatusWithoutTemplate(Refusal):
    """The module is only in the status, which does not name its template."""


@dataclass(frozen=True, slots=True)
class NoReleaseMeta(Refusal):
    """No ModuleReleaseMeta and no old-style template has the module."""

    namespace: str
    installed_before: bool = False

    @property
    def state(self) -> State:
        return State.WARNING if self.installed_before else State.ERROR

    @property
    def keeps_installed(self) -> bool:
        return self.installed_before


@dataclass(frozen=True, slots=True)
class CatalogUnreadable(Refusal):
    """The module was not found, and lists that could have it are missing."""

    why: UnknownFact

    @property
    def state(self) -> State:
        return State.UNKNOWN


@dataclass(frozen=True, slots=True)
class ChannelUnknown(Refusal):
    """The list of Kymas, which has the channel, is missing."""

    why: UnknownFact

    @property
    def state(self) -> State:
        return State.UNKNOWN


@dataclass(frozen=True, slots=True)
class NoChannels(Refusal):
    """The ModuleReleaseMeta has no channels."""


@dataclass(frozen=True, slots=True)
class ChannelMissing(Refusal):
    """The ModuleReleaseMeta has only other channels."""

    channel: str
    offered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateMissing(Refusal):
    """The channel has a version without a template."""

    version: str
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class AmbiguousTemplates(Refusal):
    """Several old-style templates match."""

    channel: str
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoTemplateInChannel(Refusal):
    """No old-style template is in the channel."""

    channel: str
    offered: tuple[str, ...]

    @property
    def state(self) -> State:
        return State.WARNING


@dataclass(frozen=True, slots=True)
class TemplateWithoutChannel(Refusal):
    """An old-style template of the module has no channel."""

    template: str


@dataclass(frozen=True, slots=True)
class IsMandatory(Refusal):
    """The template is mandatory: it is installed everywhere and cannot be requested."""

    template: str

    @property
    def state(self) -> State:
        return State.WARNING


@dataclass(frozen=True, slots=True)
class NotAllowed(Refusal):
    """The Kyma may not have the module; lifecycle-manager uninstalls it."""

    @property
    def uninstalls(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class InternalOnly(NotAllowed):
    """The module is internal, and the Kyma lacks the internal label."""


@dataclass(frozen=True, slots=True)
class BetaOnly(NotAllowed):
    """The module is beta, and the Kyma lacks the beta label."""


@dataclass(frozen=True, slots=True)
class SelectorWithoutRestriction(NotAllowed):
    """The module has a selector but is not configured as restricted."""


@dataclass(frozen=True, slots=True)
class RestrictedWithoutSelector(NotAllowed):
    """The module is restricted, and its ModuleReleaseMeta has no selector or an empty one."""


@dataclass(frozen=True, slots=True)
class RestrictedToOthers(NotAllowed):
    """The module is restricted, and its selector does not match the Kyma."""


@dataclass(frozen=True, slots=True)
class SelectorInvalid(NotAllowed):
    """The module is restricted, and its selector is invalid."""

    reason: str


@dataclass(frozen=True, slots=True)
class KeepsInstalled(Refusal):
    """lifecycle-manager keeps the installed version and reports a warning."""

    @property
    def state(self) -> State:
        return State.WARNING

    @property
    def keeps_installed(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class HeldBack(KeepsInstalled):
    """The channel's version is lower than the installed one (downgrade guard)."""

    to_channel: str
    installed: str
    offered: str


@dataclass(frozen=True, slots=True)
class InvalidVersion(KeepsInstalled):
    """A version is invalid, so the guard cannot compare it; `where` is "status" or "template"."""

    where: str
    version: str


@dataclass(frozen=True, slots=True)
class WaitsForWindow(KeepsInstalled):
    """The new version needs downtime; `window` is None if the policy is unknown."""

    installed: str
    offered: str
    window: MaintenanceWindow | None


@dataclass(frozen=True, slots=True)
class WindowsUnreadable(KeepsInstalled):
    """The new version needs downtime, and the policy is unreadable or has no window."""

    reason: str

    @property
    def state(self) -> State:
        return State.ERROR
