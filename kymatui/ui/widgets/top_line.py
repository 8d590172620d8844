"""Top line of every screen: the location, the cluster, the write mode and the connection status."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace
from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.terminal.plain_widgets import PlainText


class FrameFacts(Struct, frozen=True):
    """Content of the top line; `connection` is a word such as "live" or "stale 42s", `tone` its colour.

    Lists are narrowed to the namespace `only`, requests impersonate `user`. `manager` manages the modules; `traffic`
    has the numbers of read and other requests, to prove read-only.
    """

    trail: tuple[str, ...] = ()
    cluster: str = ""
    namespace: str = ""
    only: str = ""
    user: str = ""
    mode: str = "RW"
    connection: str = "connecting"
    tone: str = "processing"
    counts: str = ""
    sign: str = ""
    banner: str = ""
    jobs: str = ""
    manager: str = ""
    manager_short: str = ""
    traffic: tuple[int, int] | None = None

    def with_trail(self, *trail: str) -> FrameFacts:
        return replace(self, trail=trail)


_TONES = {
    "ready": "$text-success",
    "processing": "$state-processing",
    "warning": "$text-warning",
    "error": "$text-error",
    "muted": "$foreground-muted",
}


def _proof(facts: FrameFacts, wide: bool) -> str:
    """Return how many requests were sent, and that none could write."""
    if facts.traffic is None:
        return ""
    reads, writes = facts.traffic
    return f" reads {reads} writes {writes}" if wide else f" {reads}r {writes}w"


def spread_parts(left: Content, right: Content, width: int) -> Content:
    """Return both texts at the ends of a line; clip the left text if they do not fit."""
    space = width - left.cell_length - right.cell_length
    if space < 1:
        left = left.truncate(max(width - right.cell_length - 1, 0), ellipsis=True)
        space = max(width - left.cell_length - right.cell_length, 0)
    return Content.assemble(left, " " * space, right)


class TopLine(PlainText):
    """Product, trail and cluster on the left; counts, mode and connection on the right."""

    class Chosen(Message):
        """Message: a click on a crumb."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    facts: reactive[FrameFacts] = reactive(FrameFacts())

    def on_click(self, event: events.Click) -> None:
        left = len(" kymatui ")
        for number, step in enumerate(self.facts.trail):
            right = left + cell_len("› " + sanitize(step) + " ")
            if left <= event.x < right:
                self.post_message(self.Chosen(number))
            left = right

    def render(self) -> Content:
        facts, width = self.facts, self.size.width
        wide = width >= 100
        left = [Content.styled(" kymatui ", "bold $primary")]
        for step in facts.trail:
            left += [Content.styled("› ", "$foreground-muted"), Content.styled(sanitize(step) + " ", "bold")]
        if facts.cluster:
            named = facts.namespace and wide and not facts.only
            where = sanitize(f"{facts.cluster}/{facts.namespace}" if named else facts.cluster)
            left += [Content.styled(" ctx ", "$foreground-muted"), Content.styled(where, "$secondary")]
        if facts.user:
            left += [Content.styled(" as ", "$foreground-muted"), Content.styled(sanitize(facts.user), "bold $accent")]
        if facts.only:
            left += [Content.styled("  ns ", "$foreground-muted"), Content.styled(sanitize(facts.only), "bold $accent")]
        line = Content.assemble(*left)
        right = Content()
        for words in _around(facts, wide):  # on a narrow line, names precede counts
            right = _right(facts, wide, words)
            if line.cell_length + right.cell_length < width:
                break
        return spread_parts(line, right, width)


def _around(facts: FrameFacts, wide: bool) -> Iterator[str]:
    """Yield the texts before the mode, from longest to shortest."""
    counts = f"{facts.counts}   " if facts.counts and wide else ""
    if facts.manager:
        yield f"{counts}{facts.manager}   "
        yield f"{facts.manager}   "
        yield f"{facts.manager_short} "
    else:
        yield counts


def _right(facts: FrameFacts, wide: bool, words: str) -> Content:
    mode_style = "bold $text-warning" if facts.mode == "RW" else "bold $text-success"
    return Content.assemble(
        Content.styled(f"{facts.jobs}   " if facts.jobs else "", "bold $text-accent"),
        Content.styled(words, "$foreground-muted"),
        Content.styled(f"[{facts.mode}{_proof(facts, wide)}] ", mode_style),
        Content.styled(f"{facts.sign} {facts.connection} ".lstrip(), _TONES.get(facts.tone, "")),
    )
