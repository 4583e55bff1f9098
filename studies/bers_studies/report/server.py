"""The page of a run that goes on, served on this machine only.

Enters: folders. Leaves: a server on the loopback address that gives two things: the page, made
anew when something in the folders has changed, and a word that changes with them. Nothing else can
be asked for, whatever the path.
"""

import hashlib
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from bers.errors import BersError, ConfigError
from bers_studies.report.page import page

_HERE = "127.0.0.1"
_PATIENCE = 10.0
"""Seconds that a connection may be silent: one that asks for nothing would hold a thread."""


def serve(
    folders: Sequence[Path], *, port: int = 0, title: str = "BERS", patience: float = _PATIENCE
) -> ThreadingHTTPServer:
    """A server that is ready; the caller runs and closes it.

    >>> with serve([Path(".")]) as server:
    ...     server.server_address[0]
    '127.0.0.1'
    """
    kept = _Kept(folders, title)

    class Handler(BaseHTTPRequestHandler):
        timeout = patience

        def do_GET(self) -> None:
            host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            if host not in (_HERE, "localhost"):  # another name that leads here
                self.send_error(403)
            elif self.path == "/version":
                self._send(kept.version(), "text/plain")
            elif self.path == "/":
                self._send(kept.page(), "text/html")
            else:
                self.send_error(404)

        def _send(self, text: str, kind: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """The terminal stays quiet."""

    try:
        return ThreadingHTTPServer((_HERE, port), Handler)
    except OSError as error:
        raise ConfigError(
            f"port {port} cannot be used: {error.strerror}. Give another with --port."
        ) from error


class _Kept:
    """The last page, and what it was made of."""

    def __init__(self, folders: Sequence[Path], title: str) -> None:
        self._folders, self._title = list(folders), title
        self._lock = threading.Lock()
        self._of, self._page = "", ""

    def version(self) -> str:
        """Another word when a file in the folders has changed."""
        total = hashlib.sha256()
        for folder in self._folders:
            for path in sorted(folder.glob("*")):
                try:
                    stat = path.stat()
                except OSError:  # gone since
                    continue
                if not path.name.startswith("."):
                    total.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
        return total.hexdigest()[:16]

    def page(self) -> str:
        """Made anew only when something has changed."""
        with self._lock:
            now = self.version()
            if now != self._of:
                try:
                    self._page = page(self._folders, title=self._title, live=True)
                except BersError as error:  # a damaged file must not end the watch
                    self._page = page([], title=f"{self._title}: {error}", live=True)
                self._of = now
            return self._page
