"""Finds the server and speaks HTTP to it: over its Unix socket, where the kernel says who calls, or by URL with a token."""
import http.client
import json
import os
import socket
import urllib.parse
from typing import Any, Dict, Mapping, Optional

_SYSTEM_SOCKET = "/run/sharewell/sharewell.sock"


class Error(Exception):
    """Base of all that this package raises by itself."""


class Unreachable(Error):
    """No server answers there."""


class ServerError(Error):
    """The server said no. Its own words are the message."""

    def __init__(self, status: int, title: str, detail: str):
        super().__init__(detail or title or f"the server answered {status}")
        self.status, self.title, self.detail = status, title, detail


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: Optional[float]):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _own_socket() -> str:
    runtime, store, state = (os.environ.get(name, "") for name in ("XDG_RUNTIME_DIR", "SHAREWELL_STORE", "XDG_STATE_HOME"))
    if runtime:
        folder = runtime
    elif store and "://" not in store:
        folder = os.path.dirname(os.path.abspath(store))
    else:
        folder = os.path.join(state if state.startswith("/") else os.path.join(os.environ.get("HOME") or ".", ".local/state"), "sharewell")
    return os.path.join(folder, "sharewell.sock")


def find_server() -> str:
    """$SHAREWELL_SERVER, else the user's own socket if it is there, else the machine's."""
    named = os.environ.get("SHAREWELL_SERVER")
    if named:
        return named
    own = _own_socket()
    return own if os.path.exists(own) else _SYSTEM_SOCKET


class Transport:
    """Makes one connection a request: a thread may use it while another does."""

    def __init__(self, server: Optional[str], token_file: Optional[str], timeout: float):
        self.server, self.timeout = server or find_server(), timeout
        token_file = token_file or os.environ.get("SHAREWELL_TOKEN_FILE")
        self._token = ""
        if token_file:
            try:
                with open(token_file, encoding="utf-8") as file:
                    self._token = file.read().strip()
            except OSError as e:
                raise Error(f"the token file {token_file} cannot be read: {e.strerror}") from e
        self._url = urllib.parse.urlsplit(self.server) if "://" in self.server else None
        if self._url and (self._url.scheme not in ("http", "https") or not self._url.hostname):
            raise Error(f"{self.server} is no server: give the path of its socket, or http://HOST:PORT, or https://HOST:PORT")

    def open(self, method: str, path: str, query: Optional[Mapping[str, Any]] = None, body: Optional[bytes] = None,
             headers: Optional[Mapping[str, str]] = None, timeout: Optional[float] = None) -> http.client.HTTPResponse:
        """The response, its body not read yet. An answer above 299 is raised."""
        wanted = {k: v for k, v in (query or {}).items() if v is not None}
        target = "/api/v1" + path + ("?" + urllib.parse.urlencode(wanted) if wanted else "")
        send = {"Connection": "close", **(headers or {})}
        if self._token:
            send["Authorization"] = "Bearer " + self._token
        connection = self._connection(self.timeout if timeout is None else timeout)
        try:
            connection.request(method, target, body=body, headers=send)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as e:
            connection.close()
            raise Unreachable(f"no server answers at {self.server}: {e or type(e).__name__}; is `sharewell serve` running? "
                              "$SHAREWELL_SERVER or Client(server=...) names another one") from e
        if response.status >= 300:
            raise self._refused(response)
        return response

    def json(self, method: str, path: str, query: Optional[Mapping[str, Any]] = None, body: Any = None) -> Dict[str, Any]:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {} if data is None else {
            "Content-Type": "application/octet-stream" if isinstance(body, bytes) else "application/json"}
        if method == "POST" and data is None:
            data = b""
        with self.open(method, path, query, data, headers) as response:
            try:
                answer = json.loads(response.read())
            except (OSError, ValueError, http.client.HTTPException) as e:
                raise Error(f"the answer of {self.server} to {method} {path} cannot be read: {e}") from e
        if not isinstance(answer, dict):
            raise Error(f"the answer of {self.server} to {method} {path} is no object")
        return answer

    def _connection(self, timeout: Optional[float]) -> http.client.HTTPConnection:
        if not self._url:
            return _UnixConnection(self.server, timeout)
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "https":
            import ssl  # not for a training loop, which needs none of it
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=timeout)

    @staticmethod
    def _refused(response: http.client.HTTPResponse) -> ServerError:
        with response:
            try:
                problem = json.loads(response.read(1 << 20))
                return ServerError(response.status, str(problem.get("title", "")), str(problem.get("detail", "")))
            except (OSError, ValueError, AttributeError, http.client.HTTPException):
                return ServerError(response.status, response.reason, "")
