"""What to read of the log of one container."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import format_time

_SECOND = 1_000_000_000


class LogOptions(Struct, frozen=True):
    """What to read of each container.

    follow    whether to wait for new lines
    previous  whether to read the container's previous instance, before its last restart
    tail      only so many lines at the end; None for all
    since     only lines of the last so many seconds; None for all
    """

    follow: bool = False
    previous: bool = False
    tail: int | None = None
    since: int | None = None


class LogQuery(Struct, frozen=True):
    """One request for a log; `after` is a time in nanoseconds of the Unix clock, in the place of `since`."""

    namespace: str
    pod: str
    container: str
    options: LogOptions = LogOptions()
    after: int | None = None

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """Return the query of PodLogOptions; lines always come with their times."""
        options = self.options
        parameters = [("container", self.container), ("timestamps", "true")]
        if self.after is not None:
            parameters.append(("sinceTime", format_time(self.after // _SECOND)))
        elif options.since is not None:
            parameters.append(("sinceSeconds", str(options.since)))
        if options.tail is not None and self.after is None:
            parameters.append(("tailLines", str(options.tail)))
        parameters += [("previous", "true")] if options.previous else []
        return parameters + ([("follow", "true")] if options.follow else [])

    def resumed(self, after: int | None) -> LogQuery:
        """Return the request for what comes after a line; the same request if no line was read."""
        return self if after is None else replace(self, after=after)
