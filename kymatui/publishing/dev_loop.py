"""The author's loop: look at a module's files, and run a cycle after each save.

Files are looked at instead of watched: editors replace them, tools write them in parts, and not every file system sends
events. What costs time is done only after a save.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.errors import KymatuiError
from kymatui.publishing.module_build import LARGEST_CONFIG, beside, security_path
from kymatui.publishing.module_config import is_address, read_config
from kymatui.publishing.ports import ModuleSources

LOOK_SECONDS: Final = 0.5
"""The time between two looks; files have to be the same at two of them before they are read."""
RETRIES: Final = Backoff(2.0, 60.0)
"""Seconds until a failed cycle is tried again without a save."""

FileStamp = tuple[int, int, int]
Stamps = tuple[tuple[str, FileStamp | None], ...]


class CycleEnd(Enum):
    """How a cycle ended: it waits for the next save, or is tried again because a server did not answer."""

    WAIT = "wait"
    RETRY = "retry"


class ModuleFiles:
    """A module config and the files that it names; of an unreadable config, those that it named last."""

    def __init__(self, config: str, sources: ModuleSources) -> None:
        self._config = config
        self._sources = sources
        self._read_at: FileStamp | None = None
        self._named: tuple[str, ...] = ()

    def stamps(self) -> Stamps:
        """Return each file with its stamp, None for a file that is missing."""
        stamp = self._sources.stamp(self._config)
        if stamp != self._read_at:
            self._read_at = stamp
            self._named = self._names() or self._named
        return tuple((path, self._sources.stamp(path)) for path in (self._config, *self._named))

    def _names(self) -> tuple[str, ...]:
        try:
            content = self._sources.read(self._config, "module config", LARGEST_CONFIG)
            config, _ = read_config(content, self._config)
        except KymatuiError:  # the cycle reads the config itself and reports the error
            return ()
        paths = [beside(self._config, path) for path in (config.manifest, config.default_cr) if path]
        if config.security:
            paths.append(security_path(self._config, config.security, self._sources))
        return tuple(dict.fromkeys(path for path in paths if not is_address(path)))


def run_dev_loop(
    files: ModuleFiles,
    cycle: Callable[[], CycleEnd],
    idle: Callable[[], None],
    retrying: Callable[[float], None],
    wait: Callable[[float], bool],
) -> None:
    """Run a cycle now and after each save, until `wait` (seconds) returns true.

    A cycle begins once two looks find the same files, so that it never reads half of a save. A save during a cycle
    starts the next one. `retrying` is called with the seconds until a failed cycle is tried again without a save.
    """
    done: Stamps | None = None
    before: Stamps | None = None
    failures, due = 0, float("inf")
    while True:
        stamps = files.stamps()
        is_saved = stamps != done and (done is None or stamps == before)
        if is_saved or due <= 0:
            done, due = stamps, float("inf")
            failures = 0 if is_saved else failures
            if cycle() is CycleEnd.RETRY:
                due = RETRIES.delay(failures)
                retrying(due)
                failures += 1
            else:
                failures = 0
        before = stamps
        idle()
        if wait(LOOK_SECONDS):
            return
        due -= LOOK_SECONDS
