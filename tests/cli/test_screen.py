"""Opening the screen: on a terminal only, and with an exit status that says whether it ever showed anything."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from rich.color import Color, ColorSystem
from textual.theme import Theme

from kymatui.cli.commands.program.screen import has_utf8, theme_for_colours
from kymatui.cli.output.terminal import MAGENTA, STATE_COLOURS
from kymatui.domain.kyma.states import State
from kymatui.ui.terminal.themes import THEMES
from tests.adapters.clusters import Cluster, Exchange, serving, write_kubeconfig
from tests.cli.terminal import in_terminal
from tests.sessions.worlds import KYMAS, MANIFESTS, METAS, TEMPLATES, kyma_cluster

KYMATUI = [sys.executable, "-m", "kymatui"]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    variables = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return {"HOME": str(tmp_path), "KUBECONFIG": "", "TERM": "xterm-256color", **variables}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    found = kyma_cluster(2)
    yield found
    found.close()


def left_with_q(cluster: Cluster, folder: Path, home: dict[str, str], wanted: str) -> tuple[int, str]:
    """Opens the screen on a cluster, waits for a text on it, and quits."""
    with serving(cluster.respond) as address:
        kubeconfig = str(write_kubeconfig(folder, address))
        found = in_terminal(wanted, "q", [*KYMATUI, "--kubeconfig", kubeconfig], home)
        cluster.close()
    assert "Traceback" not in found.stdout
    return found.returncode, found.stdout


def test_without_a_terminal_it_says_what_to_do_instead(tmp_path: Path) -> None:
    found = subprocess.run(
        [*KYMATUI, "--kubeconfig", "x"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
    )
    assert (found.returncode, found.stdout) == (64, "")
    assert "needs a terminal" in found.stderr
    assert "`kymatui catalog`" in found.stderr


def test_a_cluster_is_shown_and_left(cluster: Cluster, tmp_path: Path, home: dict[str, str]) -> None:
    assert left_with_q(cluster, tmp_path, home, "moduleab")[0] == 0


@pytest.mark.parametrize(
    ("words", "said", "status"),
    [
        ([], "no kubeconfig", 1),
        (["--kubeconfig", "gone"], "gone not found", 1),
        (["--kubeconfig", "KUBECONFIG", "--context", "prod"], 'no context "prod"', 64),
    ],
)
def test_what_cannot_be_opened_ends_the_screen_with_words(
    words: list[str], said: str, status: int, tmp_path: Path, home: dict[str, str]
) -> None:
    file = str(write_kubeconfig(tmp_path, "http://127.0.0.1:1"))
    found = in_terminal(
        "nothing to wait for", "", [*KYMATUI, *(word.replace("KUBECONFIG", file) for word in words)], home
    )
    assert found.returncode == status
    assert said in found.stdout
    assert "hint: " in found.stdout
    assert "Traceback" not in found.stdout


def test_a_server_that_is_not_there_is_shown_and_said_again_at_the_end(tmp_path: Path, home: dict[str, str]) -> None:
    with serving(lambda exchange: exchange.drop()) as address:
        file = write_kubeconfig(tmp_path, address)
    found = in_terminal("connection refused", "q", [*KYMATUI, "--kubeconfig", str(file)], home)
    assert found.returncode == 1
    assert f"kymatui: nothing listens at {address} (connection refused)" in found.stdout


def test_an_expired_token_is_shown_and_said_again(cluster: Cluster, tmp_path: Path, home: dict[str, str]) -> None:
    def refuse(exchange: Exchange) -> bool:
        exchange.status(401, "Unauthorized")
        return True

    cluster.before = refuse
    status, drawn = left_with_q(cluster, tmp_path, home, "does not accept the credentials")
    assert status == 1
    assert "hint: log in again" in drawn


def test_a_cluster_without_kyma_is_shown_and_said_again(cluster: Cluster, tmp_path: Path, home: dict[str, str]) -> None:
    for name in (KYMAS, TEMPLATES, METAS, MANIFESTS):
        cluster.remove(name)
    status, drawn = left_with_q(cluster, tmp_path, home, "No Kyma")
    assert status == 1
    assert "kymatui demo" in drawn


def test_what_may_not_be_listed_takes_nothing_from_the_rest(
    cluster: Cluster, tmp_path: Path, home: dict[str, str]
) -> None:
    for place in ("", "/kyma-system"):
        cluster.refusals[f"{MANIFESTS}{place}"] = 403
    status, drawn = left_with_q(cluster, tmp_path, home, "moduleab")
    assert status == 0
    assert "moduleaa" in drawn


def test_the_frame_answers_before_the_screen_is_loaded(tmp_path: Path, home: dict[str, str]) -> None:
    """In a process in which nothing of the toolkit can be imported, the words are there all the same, and go again."""
    program = "import sys; sys.modules['textual'] = None\nfrom kymatui.cli.main import main\nsys.exit(main([]))"
    home["KUBECONFIG"] = str(write_kubeconfig(tmp_path, "http://127.0.0.1:9"))
    found = in_terminal("starting", "", [sys.executable, "-c", program], home)
    before, _, behind = found.stdout.partition("starting")
    assert "\x1b[?1049h" in before
    assert "kymatui › modules" in before
    assert "\x1b[?25h\x1b[?1049l" in behind


@pytest.mark.parametrize("name", ["dumb", "unknown"])
def test_a_terminal_without_a_cursor_gets_a_hint_instead_of_a_screen(name: str, home: dict[str, str]) -> None:
    found = in_terminal("hint", "", [*KYMATUI, "--kubeconfig", "x"], {**home, "TERM": name})
    assert found.returncode == 64
    assert f"kymatui: the terminal cannot display a screen (TERM={name})" in found.stdout
    assert "hint: `kymatui catalog` prints the modules" in found.stdout
    assert "\x1b" not in found.stdout


@pytest.mark.parametrize(
    ("variables", "is_ascii"),
    [({"LC_ALL": "C"}, True), ({"LC_ALL": "C", "KYMATUI_ASCII": "0"}, False), ({"LC_ALL": "C.UTF-8"}, False)],
)
def test_a_locale_without_utf8_has_a_screen_in_ascii(
    variables: dict[str, str], is_ascii: bool, cluster: Cluster, tmp_path: Path, home: dict[str, str]
) -> None:
    status, drawn = left_with_q(cluster, tmp_path, {**home, **variables}, "moduleab")
    assert status == 0
    assert drawn.isascii() is is_ascii


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, True),
        ({"LANG": "en_US.UTF-8"}, True),
        ({"LANG": "de_DE.utf8@euro"}, True),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "en_US.UTF-8", "LC_CTYPE": "POSIX"}, False),
        ({"LC_ALL": "C.UTF-8", "LANG": "C"}, True),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({"LC_ALL": "", "LANG": "C"}, False),
        ({"LANG": "en_US"}, True),
    ],
)
def test_the_locale_decides_as_in_every_program(variables: dict[str, str], expected: bool) -> None:
    assert has_utf8(variables) is expected


def colours_of(theme: Theme) -> dict[str, str]:
    """The colours of a module's states in a theme."""
    ready, warning, error = theme.success, theme.warning, theme.error
    assert ready
    assert warning
    assert error
    own = {state: theme.variables[f"state-{state}"] for state in ("processing", "deleting")}
    return {"ready": ready, "warning": warning, "error": error, **own}


@pytest.mark.parametrize("theme", [theme for theme in THEMES if theme.name != "kymatui-mono"], ids=lambda one: one.name)
def test_states_have_different_colours_in_true_colours_and_256(theme: Theme) -> None:
    found = colours_of(theme)
    assert len(set(found.values())) == 5
    if not theme.ansi:
        folded = {Color.parse(one).downgrade(ColorSystem.EIGHT_BIT).number for one in found.values()}
        assert len(folded) == 5
        for one, other in combinations(found.values(), 2):
            first, second = Color.parse(one).get_truecolor(), Color.parse(other).get_truecolor()
            assert sum(abs(a - b) for a, b in zip(first, second, strict=True)) > 40, (one, other)


def test_states_have_different_colours_in_16_and_8() -> None:
    """The terminal's own: a bright colour is another one with 16, and the same one with 8."""
    assert theme_for_colours("dark", "standard") == "terminal"
    assert theme_for_colours("mono", "standard") == "mono"
    assert theme_for_colours("dark", "256") == theme_for_colours("dark", "truecolor") == "dark"
    (terminal,) = (theme for theme in THEMES if theme.ansi)
    numbers = [Color.parse(one.removeprefix("ansi_")).number for one in colours_of(terminal).values()]
    assert len({(number or 0) % 8 for number in numbers}) == 5
    assert STATE_COLOURS[State.DELETING] == MAGENTA
    assert terminal.variables["state-deleting"] == "ansi_magenta"


def test_a_terminal_with_16_colours_gets_its_own(cluster: Cluster, tmp_path: Path, home: dict[str, str]) -> None:
    status, drawn = left_with_q(cluster, tmp_path, {**home, "TERM": "xterm", "COLORTERM": ""}, "moduleab")
    assert status == 0
    assert not re.search(r"(\x1b\[|;)38;[25];", drawn)  # and not a cursor in row 38
