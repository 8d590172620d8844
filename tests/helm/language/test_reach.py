"""Templates reach no file, no variable of the process, no program and no network, whatever they call with whatever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kymatui.errors import HelmError
from kymatui.helm.functions import FUNCTIONS
from tests.helm.language.rendering import render

# Python tells its audit hooks of every file that is opened, of sockets, of programs. A hook cannot be taken away again,
# so the templates run in a process of their own: once to load what they load, and again under observation.
PROGRAM = """
import json, sys
from kymatui.errors import HelmError
from kymatui.helm.functions import FUNCTIONS
from tests.helm.language.rendering import render

SLOW = {"bcrypt", "htpasswd", "derivePassword", "genPrivateKey"}  # as hungry as any, and tried once each below
words = json.loads(sys.argv[1])
calls = [
    " ".join([name, *[json.dumps(word)] * count])
    for name in FUNCTIONS if name not in SLOW and not name.startswith("gen")
    for count in range(4)
    for word in words
]
calls += ['bcrypt "a"', 'htpasswd "a" "b"', 'genPrivateKey "ecdsa"', 'genCA "a" 1', 'genSelfSignedCert "/a" nil nil 1']
calls += [f"lookup {json.dumps(one)} {json.dumps(one)} {json.dumps(one)} {json.dumps(one)}" for one in words]

def run():
    for call in calls:
        try:
            render("{{ " + call + " }}", functions=FUNCTIONS)
        except HelmError:
            pass

run()
seen = []
on = True
def observe(event, arguments):
    if on and event.split(".")[0] in ("open", "os", "socket", "subprocess", "shutil", "glob", "ctypes", "urllib"):
        seen.append([event, repr(arguments)[:200]])
sys.addaudithook(observe)
run()
on = False
print(json.dumps(seen))
"""
WORDS = ["/etc/passwd", "$HOME ${PATH}", "localhost", "http://127.0.0.1:9/", "`id`"]


def test_no_function_opens_or_asks_anything() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(WORDS)], cwd=root, capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout)
    assert [one for one in seen if "zoneinfo" not in one[1] and "tzdata" not in one[1]] == []


@pytest.mark.parametrize("word", ["env", "expandenv"])
def test_the_functions_of_the_environment_do_not_exist(word: str) -> None:
    with pytest.raises(HelmError, match=f'function "{word}" not defined'):
        render(f'{{{{ {word} "HOME" }}}}', functions=FUNCTIONS)


@pytest.mark.parametrize("text", ["$HOME", "${HOME}", "%HOME%", "~", "$(id)"])
def test_texts_are_not_expanded(text: str) -> None:
    os.environ.setdefault("HOME", "/")
    for call in (f'print "{text}"', f'osClean "{text}"', f'clean "{text}"', f'tpl "{text}" .', f'base "{text}"'):
        assert render("{{ " + call + " }}", functions=FUNCTIONS) == text
