"""One door to the terminal: what servers, charts, files and plugins write reaches it without control characters."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kymatui.cli.main import main
from kymatui.cli.output.printing import document, print_line, print_message, print_text, table
from kymatui.cli.output.terminal import accented, guarded, guarded_streams, print_content, raw_stream, visible
from kymatui.domain.kubernetes.terminal_text import sanitize, sanitize_lines
from tests.adapters.clusters import Exchange, serving, write_kubeconfig

CONTROLS = "".join(map(chr, [*range(9), *range(11, 32), *range(127, 160)]))
FORMATS = (
    "\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\U000e0041"
)
EVIL = "\x1b]0;PWNED\x07\x1b[31mred\x9b2J\r\x7f\u202e"
FORGED = f"denied\nkymatui: deleted everything\n  hint: run it again{EVIL}"


@pytest.mark.parametrize("char", CONTROLS + FORMATS + "\ud800", ids=lambda char: f"U+{ord(char):04X}")
def test_no_character_that_a_terminal_acts_on_passes(char: str) -> None:
    for text in (char, f"a{char}b", f"{char}[31m"):
        for colours in (True, False):
            assert char not in visible(text, has_colours=colours)
        assert char not in sanitize(text)


@pytest.mark.parametrize("text", ["👨‍👩‍👧 ❤️", "می‌خواهم", "Grüße 日本", "two\nlines\tand a tab", ""])
def test_other_text_passes_as_it_is(text: str) -> None:
    assert visible(text, has_colours=False) == sanitize_lines(text) == text
    assert visible("a\r\nb", has_colours=False) == "a\nb"


def test_only_kymatui_has_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    own = accented("red", f"Cluster: {EVIL}")
    assert visible(own, has_colours=True).startswith("\x1b[97;41mCluster:  ")
    assert visible(own, has_colours=True).count("\x1b") == 2
    assert "\x1b" not in visible(own, has_colours=False)
    monkeypatch.setattr("kymatui.cli.output.terminal.CHOICE.when", "always")
    drawn = table(("NAME", "STATE"), [("keda", "Error"), (EVIL, "Ready")])
    assert visible(drawn, has_colours=True).count("\x1b") == 4
    assert visible("\x1b[31mred\x1b[0m", has_colours=True) == " [31mred [0m"


def test_whatever_writes_to_the_streams_goes_through_the_door(capsys: pytest.CaptureFixture[str]) -> None:
    """Log records of libraries and tracebacks as well."""
    with guarded_streams():
        print(EVIL)
        print(EVIL, file=sys.stderr)
        sys.stdout.writelines([EVIL, EVIL])
        handler = logging.StreamHandler()
        handler.emit(logging.LogRecord("x", logging.ERROR, "x.py", 1, EVIL, (), None))
        try:
            raise ValueError(EVIL)
        except ValueError as error:
            sys.excepthook(type(error), error, error.__traceback__)
        assert guarded(sys.stdout) is sys.stdout
        assert raw_stream(sys.stdout) is not sys.stdout
    written = "".join(capsys.readouterr())
    assert written.count("PWNED") == 6
    assert written == sanitize_lines(written)


def test_a_message_of_several_lines_forges_none(capsys: pytest.CaptureFixture[str]) -> None:
    print_message(FORGED, FORGED)
    print_line(FORGED, sys.stderr)
    out, err = capsys.readouterr()
    assert not out
    assert [line for line in err.splitlines() if not line.startswith("    ")] == [
        "kymatui: denied",
        "  hint: denied",
        sanitize(FORGED),
    ]
    assert err == sanitize_lines(err)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_documents_mean_what_they_meant_and_are_escaped(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    value = {"message": EVIL + FORMATS + CONTROLS, FORMATS: [EVIL, "👨‍👩‍👧", "a\nb"], "plain": "x"}
    print_text(document(value, form))
    printed = capsys.readouterr().out
    assert printed == sanitize_lines(printed)
    assert (json.loads if form == "json" else yaml.safe_load)(printed) == value
    assert "👨‍👩‍👧" in printed


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_contents_are_byte_for_byte_in_a_pipe_and_safe_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    content = f"{EVIL}\r\nGrüße\n\udcff"
    print_content(content)
    assert capfdbinary.readouterr().out == content.encode("utf-8", "surrogateescape")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    print_content(content)
    shown = terminal.getvalue()
    assert shown == sanitize_lines(shown)
    assert "Grüße" in shown


# what others write, in the commands that quote it


@pytest.fixture
def refusing(tmp_path: Path) -> Iterator[list[str]]:
    """Yield the options of a server that answers everything with 403 and hostile texts."""

    def respond(exchange: Exchange) -> None:
        if exchange.path.startswith("/v2/"):
            exchange.json({"errors": [{"code": FORGED, "message": FORGED}]}, 403)
        elif exchange.path.endswith(".yaml"):
            exchange.answer(403, b"", {}, reason="Forbidden \x1b]0;PWNED\x07")
        else:
            exchange.json(
                {"kind": "Status", "status": "Failure", "message": FORGED, "reason": FORGED, "code": 403}, 403
            )

    with serving(respond) as address:
        yield [str(write_kubeconfig(tmp_path, address)), address, address.removeprefix("http://")]


def chart(folder: Path) -> str:
    text = json.dumps(FORGED)
    files = {
        "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "README.md": FORGED,
        "templates/a.yaml": f"{{{{ fail {text} }}}}",
    }
    for name, content in files.items():
        (folder / "web" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "web" / name).write_text(content)
    return str(folder / "web")


COMMANDS = {
    "messages of an API server": ("catalog", "--kubeconfig", "CONFIG"),
    "messages of an API server in a report": ("audit", "--kubeconfig", "CONFIG"),
    "the document of an error": ("catalog", "--kubeconfig", "CONFIG", "-o", "json"),
    "messages of a registry": ("helm", "pull", "oci://HOST/x/y", "--version", "1.0.0", "--plain-http"),
    "messages of a registry for a module": ("bundle", "list", "HOST/x/y", "--insecure-registry", "HOST"),
    "a reason phrase": ("helm", "pull", "web", "--repo", "URL"),
    "a reason phrase of a catalog": ("catalog", "--kubeconfig", "CONFIG", "--modules-from", "URL/all.yaml"),
    "a chart's failure": ("helm", "template", "x", "CHART"),
    "a path in lint": ("helm", "lint", FORGED),
    "an argument": ("module", FORGED, "--kubeconfig", "CONFIG"),
    "an option": (f"--{FORGED}",),
    "a path": ("helm", "show", "chart", FORGED),
    "the path of a kubeconfig": ("catalog", "--kubeconfig", f"/nowhere/{FORGED}"),
    "a context": ("catalog", "--kubeconfig", "CONFIG", "--context", FORGED),
    "a registry": ("helm", "pull", f"oci://{FORGED}/x"),
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_quotes_others_without_control_characters(
    words: tuple[str, ...], refusing: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, address, host = refusing
    given = {"CONFIG": config, "HOST": host, "URL": address, "CHART": chart(tmp_path)}
    line = list(words)
    for name, value in given.items():
        line = [word.replace(name, value) for word in line]
    assert main(line) != 0
    out, err = capsys.readouterr()
    assert out + err
    assert out + err == sanitize_lines(out + err)
    assert not [line for line in err.splitlines() if line.startswith(("kymatui: deleted", "  hint: run it again"))]


@pytest.mark.parametrize("name", ["KYMATUI_REGISTRY", "KYMATUI_THEME", "HTTPS_PROXY", "KUBECONFIG"])
def test_a_command_quotes_variables_without_control_characters(
    name: str, refusing: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", refusing[0])
    monkeypatch.setenv(name, FORGED)
    assert main(["catalog"]) != 0
    written = "".join(capsys.readouterr())
    assert written == sanitize_lines(written)


def test_a_plugin_forges_no_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (plugin := tmp_path / "plugin").write_text(f"#!/bin/sh\ncat >&2 <<'E'\n{FORGED}\nE\nexit 1\n")
    plugin.chmod(0o755)
    file = write_kubeconfig(tmp_path, "http://127.0.0.1:1")
    config = json.loads(file.read_text())
    call = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    config["users"][0]["user"] = {"exec": call}
    file.write_text(json.dumps(config))
    assert main(["catalog", "--kubeconfig", str(file)]) == 1
    out, err = capsys.readouterr()
    assert "deleted everything" in err
    assert "kymatui: deleted" not in [line[:16] for line in err.splitlines()]
    assert out + err == sanitize_lines(out + err)


def test_a_readme_is_as_helm_prints_it_in_a_pipe_and_safe_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = chart(tmp_path)
    assert main(["helm", "show", "readme", path]) == 0
    assert EVIL.replace("\r", "\n") in capsys.readouterr().out.replace("\r", "\n")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["helm", "show", "readme", path]) == 0
    assert "deleted everything" in terminal.getvalue()
    assert terminal.getvalue() == sanitize_lines(terminal.getvalue())
