"""Why a module has no template that may be used now. Each refusal is a value; `wording` turns it into a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from kymatui.domain.kyma.maintenance_windows import MaintenanceWindow
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.missing_lists import UnknownFact


@dataclass(frozen=True, slots=True)
class Refusal:
    """The module that is refused."""

    module: str

    @property
    def state(self) -> State:
        """The state that lifecycle-manager reports for the module where it was not installed before."""
        return State.ERROR

    @property
    def keeps_installed(self) -> bool:
        """Whether what is installed stays as it is."""
        return False

    @property
    def uninstalls(self) -> bool:
        """Whether lifecycle-manager deletes the module's Manifest, and so the module."""
        return False


@dataclass(frozen=True, slots=True)
class ChannelIsNone(Refusal):
    """The channel is the word none; `where` is the field that says so."""

    where: str


@dataclass(frozen=True, slots=True)
class ChannelAndVersion(Refusal):
    """Channel and version are both set, and exclude each other."""

    channel: str
    version: str


@dataclass(frozen=True, slots=True)
class StatusWithoutTemplate(Refusal):
    """The module is only in the status, without the template that it came from."""


@dataclass(frozen=True, slots=True)
class NoReleaseMeta(Refusal):
    """Neither a ModuleReleaseMeta nor an old-style template knows the module."""

    namespace: str
    installed_before: bool = False

    @property
    def state(self) -> State:
        """Warning where the module was installed before."""
        return State.WARNING if self.installed_before else State.ERROR

    @property
    def keeps_installed(self) -> bool:
        """What was installed before stays."""
        return self.installed_before


@dataclass(frozen=True, slots=True)
class CatalogUnreadable(Refusal):
    """Nothing was found, and the lists where it could be are missing."""

    why: UnknownFact

    @property
    def state(self) -> State:
        """Nobody knows."""
        return State.UNKNOWN


@dataclass(frozen=True, slots=True)
class ChannelUnknown(Refusal):
    """The list of Kymas, which would name the channel, is missing."""

    why: UnknownFact

    @property
    def state(self) -> State:
        """Nobody knows."""
        return State.UNKNOWN


@dataclass(frozen=True, slots=True)
class NoChannels(Refusal):
    """The ModuleReleaseMeta has no channels at all."""


@dataclass(frozen=True, slots=True)
class ChannelMissing(Refusal):
    """The ModuleReleaseMeta has other channels only."""

    channel: str
    offered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TemplateMissing(Refusal):
    """The channel has a version, but no template of it is there."""

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
    """No old-style template matches in the channel."""

    channel: str
    offered: tuple[str, ...]

    @property
    def state(self) -> State:
        """Lifecycle-manager only warns."""
        return State.WARNING


@dataclass(frozen=True, slots=True)
class TemplateWithoutChannel(Refusal):
    """An old-style template of the module says no channel."""

    template: str


@dataclass(frozen=True, slots=True)
class IsMandatory(Refusal):
    """The template is mandatory: it is installed everywhere, and cannot be asked for."""

    template: str

    @property
    def state(self) -> State:
        """Lifecycle-manager only warns."""
        return State.WARNING


@dataclass(frozen=True, slots=True)
class NotAllowed(Refusal):
    """The Kyma may not have the module; lifecycle-manager removes it where it is installed."""

    @property
    def uninstalls(self) -> bool:
        """The Manifest is deleted."""
        return True


@dataclass(frozen=True, slots=True)
class InternalOnly(NotAllowed):
    """An internal module, and the Kyma lacks the internal label."""


@dataclass(frozen=True, slots=True)
class BetaOnly(NotAllowed):
    """A beta module, and the Kyma lacks the beta label."""


@dataclass(frozen=True, slots=True)
class SelectorWithoutRestriction(NotAllowed):
    """A selector on a module that is not configured as restricted."""


@dataclass(frozen=True, slots=True)
class RestrictedWithoutSelector(NotAllowed):
    """A restricted module whose ModuleReleaseMeta has no selector, or an empty one."""


@dataclass(frozen=True, slots=True)
class RestrictedToOthers(NotAllowed):
    """A restricted module whose selector does not match the Kyma."""


@dataclass(frozen=True, slots=True)
class SelectorInvalid(NotAllowed):
    """A restricted module whose selector cannot be read."""

    reason: str


@dataclass(frozen=True, slots=True)
class KeepsInstalled(Refusal):
    """Lifecycle-manager leaves what is installed alone and warns."""

    @property
    def state(self) -> State:
        """Lifecycle-manager only warns."""
        return State.WARNING

    @property
    def keeps_installed(self) -> bool:
        """What is installed stays."""
        return True


@dataclass(frozen=True, slots=True)
class HeldBack(KeepsInstalled):
    """The downgrade guard: the channel has a lower version than the one that was installed."""

    from_channel: str
    to_channel: str
    installed: str
    offered: str


@dataclass(frozen=True, slots=True)
class InvalidVersion(KeepsInstalled):
    """A version that the guard cannot compare; `where` is "status" or "template"."""

    where: str
    version: str


@dataclass(frozen=True, slots=True)
class WaitsForWindow(KeepsInstalled):
    """The new version needs a downtime; `window` is None where the policy is not known here."""

    installed: str
    offered: str
    window: MaintenanceWindow | None


@dataclass(frozen=True, slots=True)
class WindowsUnreadable(KeepsInstalled):
    """The new version needs a downtime, and the policy cannot be read or names no window."""

    reason: str

    @property
    def state(self) -> State:
        """Lifecycle-manager reports an error."""
        return State.ERROR
