"""Shared by all tests: where the reference data is, and coroutine tests without another plugin."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from tests.collecting import look_first
from tests.ports import is_left_out
from tests.sandboxes.starting import CAN_COPY, template

# properties hold or not, however busy the machine is
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; tests that need it skip where it is not there."""
    if not SHARED.is_dir():
        pytest.skip("the reference data (../shared) is not here")
    return SHARED


def pytest_configure(config: pytest.Config) -> None:
    """All workers of a run copy their sandboxes from one process; none ignores SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script: what starts inherits it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if CAN_COPY and not hasattr(config, "workerinput") and not config.option.collectonly:
        if not _has_arguments(config):
            look_first(copies=2)
        running = contextlib.ExitStack()
        running.enter_context(template())
        config.add_cleanup(running.close)
    if hasattr(config, "workerinput"):  # its summary is not printed, and syrupy compares all tests for it
        config.pluginmanager.unregister(name="terminalreporter")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run without arguments has of the ports what finds most; see `tests.ports`."""
    return True if not _has_arguments(config) and collection_path.is_file() and is_left_out(collection_path) else None


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    """Workers get paths in any case: tell them whether somebody named them."""
    node.workerinput["has_arguments"] = _has_arguments(node.config)


def _has_arguments(config: pytest.Config) -> bool:
    worker = getattr(config, "workerinput", None)
    return worker["has_arguments"] if worker else config.args_source is pytest.Config.ArgsSource.ARGS


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs `async def` tests on a loop of their own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_sessionstart() -> None:
    """Collecting makes much that stays: the collector of garbage would look at it again and again."""
    gc.disable()


@settings(max_examples=1, database=None)
@given(strategies.none())
def _use_hypothesis(nothing: None) -> None:
    """Make the random numbers of properties, which have to be in use before `gc.freeze` hides who uses them."""


def pytest_collection_finish() -> None:
    _use_hypothesis()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # screens are made and thrown away by the hundred: a tenth of their cost
    gc.enable()


def pytest_sessionfinish() -> None:
    """Look for unraised errors once: pytest collects five times, and each time looks at all that is still there."""
    gc.collect()
    gc.freeze()
