"""Downloads of URLs from the user: limited in size, redirects and time; never redirected out of TLS."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from urllib3.exceptions import HTTPError

from kymatui.adapters.http.deadlines import answered_within, run_abandonable
from kymatui.adapters.http.response_body import BodyError, OversizedError, read_body
from kymatui.adapters.http.safe_urls import MOST_REDIRECTS, next_address, redact_url
from kymatui.adapters.http.web_session import load_requests, open_web_session
from kymatui.adapters.oci.requester import innermost_reason
from kymatui.errors import CancelledError, RegistryError

if TYPE_CHECKING:
    from requests import Response

TIMEOUTS: Final = (5.0, 15.0)  # to connect, and between two pieces of an answer
ALL_SECONDS = 60.0  # for a whole download, however slowly the server sends


def fetch(url: str, *, largest: int, what: str, ca: str | None = None) -> bytes:
    """Return the content of a URL, at most `largest` bytes; `what` names the expected content in errors.

    `ca` is a file of certificates to trust instead of the system's. The total time is limited, however slowly the
    server sends. Raise RegistryError, also for an HTML page in place of the file.
    """
    cancel = threading.Event()
    timer = threading.Timer(ALL_SECONDS, cancel.set)
    timer.daemon = True
    timer.start()
    try:
        return run_abandonable(lambda: _transfer(url, largest, what, ca or True), cancel)
    except CancelledError as error:
        raise RegistryError(f"{redact_url(url)} took longer than {ALL_SECONDS:.0f} s") from error
    finally:
        timer.cancel()


def _transfer(url: str, largest: int, what: str, verify: bool | str) -> bytes:
    load_requests()
    import requests

    where, address = redact_url(url), url
    headers = {"Accept-Encoding": "gzip"}
    try:
        with answered_within(ALL_SECONDS + 1), open_web_session() as session:
            for _ in range(MOST_REDIRECTS + 1):
                with session.get(
                    address, headers=headers, timeout=TIMEOUTS, stream=True, allow_redirects=False, verify=verify
                ) as response:
                    if response.is_redirect:
                        address = next_address(where, address, response.headers["Location"])
                        continue
                    _check_answer(where, response, what)
                    return _body(where, response, largest, what)
    except requests.exceptions.SSLError as error:
        raise RegistryError(
            f"{where}: TLS failed: {innermost_reason(error)}", hint="check that its certificate is trusted"
        ) from error
    except (requests.exceptions.Timeout, TimeoutError) as error:
        raise RegistryError(f"{where} did not answer in time", hint="check the network and the proxy") from error
    except (requests.exceptions.RequestException, HTTPError, OSError, ValueError) as error:
        reason = innermost_reason(error)
        raise RegistryError(f"{where} cannot be fetched: {reason}", hint="check the name and the network") from error
    raise RegistryError(f"{where} redirects more than {MOST_REDIRECTS} times")


def _check_answer(where: str, response: Response, what: str) -> None:
    if response.status_code != 200:
        raise RegistryError(f"{where}: HTTP {response.status_code} {response.reason or ''}".rstrip())
    if "html" in response.headers.get("Content-Type", "").lower():
        raise RegistryError(f"{where} is a web page, not a {what}", hint="use the address of the raw file")


def _body(where: str, response: Response, largest: int, what: str) -> bytes:
    try:
        content = read_body(response.raw, largest)
    except OversizedError as error:
        raise RegistryError(f"{where} is too large; at most {largest} bytes are allowed") from error
    except BodyError as error:
        raise RegistryError(f"{where} {error}") from error
    if content[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        raise RegistryError(f"{where} is a web page, not a {what}", hint="use the address of the raw file")
    return content
