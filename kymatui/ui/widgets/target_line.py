"""Cluster of a plan, a question or a job, in the accent of its context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from kymatui.ui.terminal.plain_widgets import Static

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


class TargetLine(Static):
    """Context, server, namespace, access and edited Kyma: the first lines of every screen that leads to a write."""

    DEFAULT_CSS = "TargetLine { height: auto; }"

    def __init__(self, *targets: ClusterTarget) -> None:
        super().__init__(_lines(targets), classes="target")

    def show_targets(self, *targets: ClusterTarget) -> None:
        self.update(_lines(targets))


def _lines(targets: tuple[ClusterTarget, ...]) -> Content:
    return Content("\n".join(line for one in targets for line in one.lines) or "Cluster: not connected")
