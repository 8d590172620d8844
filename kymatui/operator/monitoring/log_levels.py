"""The levels of the operator's log, for all controllers and for single ones, and the file that changes them."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Final, Self

from msgspec import Struct, field

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError, UnknownNameError, UsageError

_LARGEST: Final = 65_536  # bytes of a file with levels


class LogLevel(IntEnum):
    """The levels, with the numbers of Python's logging."""

    DEBUG = 10
    INFO = 20
    WARNING = 30
    ERROR = 40

    @property
    def word(self) -> str:
        return self.name.lower()


class LogLevels(Struct, frozen=True):
    """The lowest level that is written, and those of single controllers."""

    default: LogLevel = LogLevel.INFO
    controllers: Mapping[str, LogLevel] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str, known: tuple[str, ...]) -> Self:
        """Return the levels of `LEVEL,CONTROLLER=LEVEL`, separated by commas or lines. Raise UsageError."""
        default, controllers = LogLevel.INFO, dict[str, LogLevel]()
        lines = (line.partition("#")[0] for line in text.splitlines())
        for part in filter(None, (part.strip() for part in ",".join(lines).split(","))):
            name, sign, word = part.rpartition("=")
            name, level = name.strip(), LogLevel.__members__.get(word.strip().upper())
            if level is None:
                hint = f"levels: {', '.join(level.word for level in LogLevel)}"
                raise UsageError(f'"{part}" is not a level of the log', hint=f"{hint}; e.g. info,manifest=debug")
            if sign and name not in known:
                raise UnknownNameError.near("controller", name, known, hint=f"valid: {', '.join(known)}")
            controllers |= {name: level} if sign else {}
            default = default if sign else level
        return cls(default, controllers)

    def of(self, controller: str) -> LogLevel:
        """Return the level of a controller; one of a namespace, such as `manifest-shop`, has that of `manifest`."""
        own = self.controllers.get(controller)
        return own if own is not None else self.controllers.get(controller.partition("-")[0], self.default)

    def __str__(self) -> str:
        return ",".join((self.default.word, *(f"{name}={level.word}" for name, level in self.controllers.items())))


class LevelFile:
    """The file with the levels, which may be changed, or replaced as a mounted ConfigMap is, at any time."""

    def __init__(self, path: Path, known: tuple[str, ...]) -> None:
        self._path, self._known = path, known
        self._seen: bytes | None = None  # what the last reading saw
        self._taken: bytes | None = None

    def read(self, *, again: bool = False) -> LogLevels | None:
        """Return the levels, None for a file that is as before, unless it is read `again`. Raise ConfigurationError.

        A change is taken when a second reading sees the same: an editor may be writing the file at the first.
        """
        try:
            if not stat.S_ISREG(self._path.stat().st_mode):  # to open a pipe would wait for its writer
                raise ConfigurationError(f"--log-level-file {self._path} is not a regular file")
            with self._path.open("rb") as stream:
                content = stream.read(_LARGEST + 1)
        except OSError as error:
            raise ConfigurationError(f"--log-level-file {self._path} cannot be read: {error_reason(error)}") from error

        if len(content) > _LARGEST:
            raise ConfigurationError(f"--log-level-file {self._path} is larger than {_LARGEST} bytes")
        settled = again or self._taken is None or content == self._seen != self._taken
        self._seen = content
        if not settled:
            return None
        self._taken = content
        try:
            return LogLevels.parse(content.decode(errors="replace"), self._known)
        except UsageError as error:
            raise ConfigurationError(f"--log-level-file {self._path}: {error}", hint=error.hint) from error
