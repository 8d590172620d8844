"""TLS of the operator's own ports, from files that are renewed while it runs."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path

from cryptography import x509
from msgspec import Struct

from kymatui.domain.kubernetes.terminal_text import error_reason
from kymatui.errors import ConfigurationError


class TlsFiles(Struct, frozen=True):
    """Certificate and key of the server, and the authorities of its clients' certificates, all in PEM."""

    certificate: Path
    key: Path
    authorities: Path


class ServerTls:
    """The context for new connections; changed files are read again. Thread-safe.

    With `optional`, clients without a certificate are let in; whoever answers them has to refuse them.
    """

    def __init__(self, files: TlsFiles, *, optional: bool) -> None:
        """Raise ConfigurationError for files that cannot be used."""
        self._files, self._optional = files, optional
        self._lock = threading.Lock()
        self._read, self._context = self._state(), self._load()

    def context(self) -> ssl.SSLContext:
        """Return the context of the present files, or of the last ones that could be used."""
        with self._lock:
            try:
                now = self._state()
                if now != self._read:
                    self._context, self._read = self._load(), now
            except ConfigurationError:
                pass  # a Secret's files are replaced one after the other: the next connection reads them again
            return self._context

    def _state(self) -> tuple[tuple[int, int], ...]:
        files = (self._files.certificate, self._files.key, self._files.authorities)
        try:
            return tuple((one.stat().st_mtime_ns, one.stat().st_size) for one in files)
        except OSError as error:
            raise ConfigurationError(f"{error.filename} cannot be read: {error_reason(error)}") from error

    def _load(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(self._files.authorities))
            context.load_cert_chain(self._files.certificate, self._files.key)
        except (OSError, ssl.SSLError) as error:
            why = error_reason(error)
            raise ConfigurationError(f"{self._files.certificate} and its key and CA cannot be used: {why}") from error
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # as Go does: authorities may lack what Python 3.13 asks for
        context.verify_mode = ssl.CERT_OPTIONAL if self._optional else ssl.CERT_REQUIRED
        return context


def read_authorities(path: Path) -> tuple[x509.Certificate, ...]:
    """Return the certificates of a PEM file. Raise ConfigurationError."""
    try:
        return tuple(x509.load_pem_x509_certificates(path.read_bytes()))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error_reason(error)}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} has no certificate that can be read: {error}") from error
