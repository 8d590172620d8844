"""The effects of an edit on each module, computed from the catalogs before and after."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kyma.versions import same_version, version_order
from kymatui.domain.modules.presence import Presence
from kymatui.domain.versions.messages import held_back_words
from kymatui.domain.versions.refusals import HeldBack, Refusal


class EffectKind(StrEnum):
    """The kinds of effects on a module."""

    INSTALL = "install"
    REQUEST = "request"  # the Kyma requests it, but the version is unknown
    UNINSTALL = "uninstall"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    HELD_BACK = "downgrade-refused"  # lifecycle-manager never downgrades
    KEEP = "keep"  # the version stays
    CHANNEL = "channel"  # only the channel changes
    RELEASE = "release"  # it stays installed, unmanaged
    WITHDRAW = "withdraw"  # the catalog no longer offers it


class Effect(Struct, frozen=True):
    """The effect on one module: its rows before and after, and a sentence."""

    module: str
    before: ModuleRow | None
    after: ModuleRow | None
    kind: EffectKind
    message: str

    @property
    def uninstalls(self) -> bool:
        """Return whether the module is uninstalled."""
        return self.kind is EffectKind.UNINSTALL

    @property
    def changes_nothing(self) -> bool:
        """Return whether the module stays as it is installed."""
        return self.kind in (EffectKind.KEEP, EffectKind.HELD_BACK)

    @property
    def installs(self) -> bool:
        """Return whether the module is newly installed."""
        return self.kind in (EffectKind.INSTALL, EffectKind.REQUEST) and (
            self.before is None or not self.before.installed
        )


def compare_catalogs(before: Catalog, after: Catalog) -> tuple[Effect, ...]:
    """Return the effect on each module that changes between two catalogs."""
    return tuple(_effects(before, after))


def _effects(before: Catalog, after: Catalog) -> Iterator[Effect]:
    for name in sorted({row.name for row in (*before.rows, *after.rows)}):
        was, will = before.row(name), after.row(name)
        if effect := _effect(was, will):
            yield Effect(name, was, will, *effect)


def _effect(was: ModuleRow | None, will: ModuleRow | None) -> tuple[EffectKind, str] | None:
    if will is None:
        return _withdrawn(was)
    refusal, before = _refusal(will), _refusal(was) if was is not None else None
    if refusal is not None and refusal.uninstalls and _is_new(refusal, was):
        return EffectKind.UNINSTALL, "is uninstalled"
    if refusal is None and before is not None and before.uninstalls and will.managed:
        return EffectKind.INSTALL, f"is installed ({will.desired})"
    if will.presence is Presence.DELETING and was is not None and was.presence is not Presence.DELETING:
        return EffectKind.UNINSTALL, f"is uninstalled ({was.installed})" if was.installed else "is uninstalled"
    if not will.managed:
        return _no_longer_managed(was, will)
    if was is None or not was.managed:
        installed = (EffectKind.INSTALL, f"is installed ({will.desired})")
        return installed if will.desired else (EffectKind.REQUEST, "is requested")
    if isinstance(refusal, HeldBack) and (was.desired, was.channel) != (will.desired, will.channel):
        return EffectKind.HELD_BACK, held_back_words(refusal)
    if was.desired != will.desired:
        return _moved(was, will)
    if was.channel != will.channel:
        return EffectKind.CHANNEL, f"moves to channel {will.channel}"
    return None


def _refusal(row: ModuleRow) -> Refusal | None:
    """Return why a Kyma may not have the module; lifecycle-manager asks no Kyma whether it may have a mandatory one."""
    return None if row.mandatory else row.resolution.refusal


def _withdrawn(was: ModuleRow | None) -> tuple[EffectKind, str] | None:
    """Return the effect on a module whose row is gone.

    Such a module was named by the Kyma only; the entry's removal uninstalls it.
    """
    if was is None:
        return None
    is_there = was.managed and bool(was.installed or was.manifest or was.checked)
    kind = EffectKind.UNINSTALL if is_there else EffectKind.WITHDRAW
    return kind, "is no longer in the catalog"


def _is_new(refusal: Refusal, was: ModuleRow | None) -> bool:
    """Return whether a refusal concerns what is installed, and was none before."""
    if was is None:
        return True
    return was.presence is not Presence.NOT_INSTALLED and type(was.resolution.refusal) is not type(refusal)


def _no_longer_managed(was: ModuleRow | None, will: ModuleRow) -> tuple[EffectKind, str] | None:
    if was is None or was.presence is Presence.NOT_INSTALLED or not was.managed:
        return None
    unmanaged = will.presence is Presence.UNMANAGED
    return EffectKind.RELEASE, "stays installed, unmanaged" if unmanaged else "is no longer requested"


def _moved(was: ModuleRow, will: ModuleRow) -> tuple[EffectKind, str]:
    if not was.installed:
        return EffectKind.INSTALL, f"is installed ({will.desired} instead of {was.desired})"
    if same_version(was.installed, will.desired):
        return EffectKind.KEEP, f"stays at {was.installed}"
    if will.desired and version_order(will.desired) > version_order(was.installed):
        return EffectKind.UPGRADE, f"is upgraded {was.installed} → {will.desired}"
    return EffectKind.DOWNGRADE, f"is downgraded {was.installed} → {will.desired or 'no version'}"
