"""An HTTPS server as an API server has one, with faults on order. What answers behind it is a backend: the fake API server (fake_api.py), or the
real one (Forward), so that both are met with the same faults.

    front.fault(path=r"/binding$", status=500, times=3)
    front.fault(path=r"watch=1", cut=117)             # ends the connection after so many bytes of the body
    front.fault(method="POST", path=r"/binding$", lose=True)  # it happens, and the answer is lost
"""

import dataclasses
import http.client
import http.server
import json
import re
import socket
import ssl
import threading
import time
import urllib.parse


@dataclasses.dataclass
class Request:
    method: str
    path: str  # without the query
    query: dict
    body: bytes
    content_type: str
    token: str
    target: str  # as it was asked for: path and query


@dataclasses.dataclass
class Answer:
    """Of one request: `body` is bytes, or an iterator of them for a watch (None: nothing yet, is the client still there?)."""

    status: int
    body: object = b""
    headers: dict = dataclasses.field(default_factory=dict)


def failure(code, reason, message, **details):
    """What Kubernetes answers when it refuses."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": details.pop("metadata", {}), "status": "Failure", "message": message, "reason": reason,
              "code": code, **({"details": details} if details else {})}
    return Answer(code, json.dumps(status).encode() + b"\n")


@dataclasses.dataclass
class Fault:
    method: str = ""  # all of it; empty: any
    path: str = ""  # searched for in path and query
    status: int = 0  # answered instead of asking the backend
    retry_after: int = None
    delay: float = 0  # before anything else happens
    hold: threading.Event = None  # nothing happens before it is set
    drop: bool = False  # the connection is ended before anything happens
    lose: bool = False  # the connection is ended after it has happened, without an answer
    cut: int = None  # bytes of the body after which the connection is ended
    user: str = ""  # only for this token
    times: int = 1  # then it is over; None: for ever
    met: int = 0


class Front:
    """Listens on 127.0.0.1. stop() ends every connection, as a killed server does; start() listens again on the same port."""

    def __init__(self, backend, certificate=None, key=None, port=0):
        self.backend, self.certificate, self.key, self.port = backend, certificate, key, port
        self.faults, self.log = [], []
        self.lock = threading.Lock()
        self.server = None
        self.connections = set()

    # ---- for tests

    def fault(self, **how):
        fault = Fault(**how)
        with self.lock:
            self.faults.append(fault)
        return fault

    def clear(self):
        with self.lock:
            self.faults.clear()

    def asked(self, method="", path=""):
        """(time, method, target, status, token) of every request that was answered."""
        with self.lock:
            return [one for one in self.log if (not method or one[1] == method) and re.search(path, one[2])]

    def start(self):
        front = self

        class Handler(_Handler):
            pass

        Handler.front = front
        deadline = time.monotonic() + 30
        while True:
            try:
                self.server = _Server(("127.0.0.1", self.port), Handler)
                break
            except OSError:  # of the one before some connection still lives
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self.port = self.server.server_address[1]
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate, self.key)
            self.server.context = context
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self):
        if self.server is None:
            return
        self.server.shutdown()
        self.server.server_close()
        self.server = None
        with self.lock:
            connections, self.connections = self.connections, set()
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        """Ends every connection; those that come are served."""
        with self.lock:
            connections = list(self.connections)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @property
    def url(self):
        return f"{'https' if self.certificate else 'http'}://127.0.0.1:{self.port}"

    # ---- for the handler

    def meet(self, request):
        """The fault that this request meets, if any."""
        with self.lock:
            for fault in self.faults:
                if (not fault.method or fault.method == request.method) and re.search(fault.path, request.target) and \
                        (not fault.user or fault.user == request.token) and (fault.times is None or fault.met < fault.times):
                    fault.met += 1
                    return fault
        return None

    def note(self, request, status):
        with self.lock:
            self.log.append((time.monotonic(), request.method, request.target, status, request.token))


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128
    context = None

    def handle_error(self, request, client_address):
        pass  # a client that went away is no news

    def finish_request(self, request, client_address):
        if self.context:
            # On the connection's own thread: a client that never speaks holds nobody up.
            request = self.context.wrap_socket(request, server_side=True)
        with self.RequestHandlerClass.front.lock:
            self.RequestHandlerClass.front.connections.add(request)
        try:
            super().finish_request(request, client_address)
        finally:
            with self.RequestHandlerClass.front.lock:
                self.RequestHandlerClass.front.connections.discard(request)
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            request.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    front = None

    def log_message(self, *_):
        pass

    def _serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        split = urllib.parse.urlsplit(self.path)
        types = self.headers.get_all("Content-Type") or []
        authorization = self.headers.get("Authorization", "")
        request = Request(self.command, split.path, dict(urllib.parse.parse_qsl(split.query, keep_blank_values=True)), self.rfile.read(length),
                          ",".join(types), authorization.removeprefix("Bearer "), self.path)
        fault = self.front.meet(request)
        if fault and fault.delay:
            time.sleep(fault.delay)
        if fault and fault.hold:
            fault.hold.wait(120)
        if fault and fault.drop:
            self.close_connection = True
            return
        if fault and fault.status:
            answer = failure(fault.status, "Injected", f"so it was ordered for {request.method} {request.path}")
            if fault.retry_after is not None:
                answer.headers["Retry-After"] = str(fault.retry_after)
        elif len(types) > 1:
            answer = failure(415, "UnsupportedMediaType", "two Content-Type headers")
        else:
            answer = self.front.backend.handle(request)
        self.front.note(request, answer.status)
        if fault and fault.lose:
            self.close_connection = True
            return
        self._answer(answer, fault.cut if fault else None)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    def _answer(self, answer, cut):
        whole = isinstance(answer.body, bytes)
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if whole:
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body if cut is None else answer.body[:cut])
            self.close_connection = self.close_connection or cut is not None
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        try:
            sent = 0
            for piece in answer.body:
                if piece is None:
                    if self.front.server is None:
                        raise ConnectionError
                    continue
                if cut is not None and sent + len(piece) >= cut:
                    piece = piece[: cut - sent]
                    self.wfile.write(b"%x\r\n%s" % (len(piece) + 1, piece))  # and one byte more that never comes
                    self.wfile.flush()
                    raise ConnectionError
                sent += len(piece)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        except (ConnectionError, OSError, ssl.SSLError):
            self.close_connection = True
        finally:
            if hasattr(answer.body, "close"):
                answer.body.close()


class Forward:
    """A backend that asks the real API server at `port`, with the client's own token."""

    def __init__(self, port, ca):
        self.port = port
        self.context = ssl.create_default_context(cafile=str(ca))

    def handle(self, request):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
        headers = {"Authorization": f"Bearer {request.token}"} if request.token else {}
        if request.content_type:
            headers["Content-Type"] = request.content_type
        try:
            connection.request(request.method, request.target, body=request.body or None, headers=headers)
            answer = connection.getresponse()
            kept = {name: value for name, value in answer.getheaders() if name.lower() == "retry-after"}
            if "watch" in request.query and answer.status == 200:
                return Answer(200, self._lines(connection, answer), kept)
            body = answer.read()
            connection.close()
            return Answer(answer.status, body, kept)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            return failure(503, "ServiceUnavailable", f"behind the front nothing answers: {error}")

    @staticmethod
    def _lines(connection, answer):
        connection.sock.settimeout(600)
        try:
            while True:
                piece = answer.read1(65536)
                if not piece:
                    return
                yield piece
        finally:
            connection.close()
