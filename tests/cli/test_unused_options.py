"""An option that a command would not use is refused: the command would be about another cluster than was meant."""

from __future__ import annotations

import pytest

from kymatui.cli.main import main


@pytest.mark.parametrize("command", ["catalog", "audit", "enable keda", "install keda", "logs keda", ""])
@pytest.mark.parametrize("option", ["--kcp-context", "--kcp-kubeconfig"])
def test_a_control_plane_needs_a_runtime(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), option, "other"]) == 64
    assert f"kymatui: {option} needs --remote" in capsys.readouterr().err
