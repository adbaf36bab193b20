"""What the tests of readers share: mirrors on this machine, folders compared file by file, parameters by name."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from awt.data.options import Data
from awt.options import from_json


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def mirror() -> Callable[[dict[str, bytes]], AbstractContextManager[str]]:
    """Starts an HTTP server on this machine that has some files, and 404 for any other."""

    @contextmanager
    def start(files: dict[str, bytes]) -> Iterator[str]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                data = files.get(self.path.lstrip("/"))
                self.send_response(404 if data is None else 200)
                self.send_header("Content-Length", str(len(data or b"")))
                self.end_headers()
                self.wfile.write(data or b"")

            def log_message(self, *args: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}/"
            finally:
                server.shutdown()
                thread.join()

    return start


@pytest.fixture
def snapshot() -> Callable[[Path], dict[str, bytes]]:
    """Every file of a folder, hidden ones included, by its path."""
    return lambda folder: {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def data_of() -> Callable[..., Data]:
    """The options of a data set, by its name and what differs from the defaults."""
    return lambda name, **changes: from_json(Data, {"name": name, **changes})
