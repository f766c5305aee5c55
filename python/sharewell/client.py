"""The server's jobs, from Python."""
import codecs
import http.client
import json
import os
import time
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from .script import script_digest
from .transport import ServerError, Transport, Unreachable

_OVER = ("finished", "failed", "cancelled")
_SILENCE = 45.0  # seconds: the server says something on an event stream at least every 15
_POLL = 1.0
# As `sharewell submit` has it; tests/served_test.py holds the two equal.
_TAKEN = frozenset("PATH HOME USER LOGNAME SHELL LANG TZ VIRTUAL_ENV PYTHONPATH LD_LIBRARY_PATH XDG_CACHE_HOME HF_HOME TORCH_HOME".split())
_AWAY = 60.0  # seconds that a server may take to come back


@dataclass(frozen=True)
class Event:
    """Something that happened: kind "job.started", the job's number (0: of no job), and a sentence for people."""
    id: int
    time_ms: int
    kind: str
    job: int
    text: str


class Job:
    """A job as the server last told of it. Every field of the API is an attribute: job.phase, job.gpus, job.reason, job.steps_per_second."""

    def __init__(self, client: "Client", record: Mapping[str, Any]):
        self._client, self.record = client, dict(record)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["record"][name]
        except KeyError:
            raise AttributeError(f"the server tells no {name!r} of a job") from None

    def __repr__(self) -> str:
        return f"<Job {self.record.get('number')} {self.record.get('name')!r}: {self.record.get('phase')}>"

    @property
    def over(self) -> bool:
        return self.record.get("phase") in _OVER

    def refresh(self) -> "Job":
        self.record = self._client.job(self.number).record
        return self

    def wait(self, timeout: Optional[float] = None) -> "Job":
        self.record = self._client.wait(self.number, timeout).record
        return self

    def logs(self, stream: str = "out") -> str:
        return "".join(self._client.logs(self.number, stream=stream))

    def why(self) -> List[str]:
        return self._client.why(self.number)

    def cancel(self) -> "Job":
        self.record = self._client.cancel(self.number).record
        return self


class Client:
    """Speaks to one server. Threads may share it.

    `server`: path of a Unix socket, or a URL; by default $SHAREWELL_SERVER, the user's own socket, or the machine's.
    `token_file`: for a URL; by default $SHAREWELL_TOKEN_FILE.
    """

    def __init__(self, server: Optional[str] = None, token_file: Optional[str] = None, timeout: float = 30.0):
        self._http = Transport(server, token_file, timeout)

    @property
    def server(self) -> str:
        return self._http.server

    def info(self) -> Dict[str, Any]:
        """Version, node and policy."""
        return self._http.json("GET", "")

    def submit(self, command: Sequence[str], *, name: Optional[str] = None, folder: Optional[str] = None,
               environment: Optional[Mapping[str, str]] = None, **asked: Any) -> Job:
        """Put a job into the queue. `command` is a list of words: no shell reads it.

        `folder` is where it starts (here), `environment` all of its environment (without: those of this process's variables that `sharewell submit` takes too). `asked` are the API's other
        fields: gpus, cores, gpu_memory_bytes, memory_bytes, gpu_models, exclusive, max_slowdown, sm_share, latency_sensitive, no_guests, priority, project,
        time_limit_seconds, image, after, held, requeue, profile, needs. What the server does not know, it names.
        """
        return self.submit_all([dict(asked, command=command, name=name, folder=folder, environment=environment)])[0]

    def submit_all(self, jobs: Sequence[Mapping[str, Any]]) -> List[Job]:
        """Several at once: all of them or none. Each has the arguments of submit()."""
        answer = self._http.json("POST", "/jobs", body={"jobs": [self._submission(job) for job in jobs]})
        return [Job(self, job) for job in answer["jobs"]]

    def consider(self, command: Sequence[str], **asked: Any) -> Dict[str, Any]:
        """A dry run: the job as it would be, and when and where it should start. Nothing is submitted."""
        return self._http.json("POST", "/jobs", {"dry_run": 1}, self._submission(dict(asked, command=command)))

    def job(self, number: int) -> Job:
        return Job(self, self._http.json("GET", f"/jobs/{int(number)}"))

    def jobs(self, *, phase: Union[str, Sequence[str], None] = None, user: Optional[str] = None, live: bool = False,
             limit: Optional[int] = None) -> List[Job]:
        """Newest first; `limit` absent: all of them, page by page."""
        found: List[Job] = []
        below: Optional[int] = None
        phases = phase if phase is None or isinstance(phase, str) else ",".join(phase)
        while limit is None or len(found) < limit:
            page = self._http.json("GET", "/jobs", {
                "phase": phases, "user": user, "live": 1 if live else None, "below": below,
                "limit": 1000 if limit is None else min(1000, limit - len(found))})
            found += [Job(self, job) for job in page["jobs"]]
            below = page.get("next")
            if below is None or not page["jobs"]:
                break
        return found

    def why(self, number: int) -> List[str]:
        """Why it waits, or why it was put where it is: sentences."""
        return list(self._http.json("GET", f"/jobs/{int(number)}/why")["why"])

    def cancel(self, number: int) -> Job:
        return self._act(number, "cancel")

    def hold(self, number: int) -> Job:
        return self._act(number, "hold")

    def release(self, number: int) -> Job:
        return self._act(number, "release")

    def pause(self, number: int) -> Job:
        """Asks for it and returns at once: the job is `paused` and `held` when it is done, and `running` where it could not be."""
        return self._act(number, "pause")

    def resume(self, number: int) -> Job:
        return self._act(number, "resume")

    def gpus(self) -> List[Dict[str, Any]]:
        return list(self._http.json("GET", "/gpus")["gpus"])

    def predict(self, model_file: str, *, batch: Optional[int] = None, precision: Optional[str] = None,
                gpu: Optional[str] = None) -> Dict[str, Any]:
        """What a model needs, by its graph (ONNX, .pt2, config.json): for submit(needs=...)."""
        query = {"batch": batch, "precision": precision, "gpu": gpu}
        with open(model_file, "rb") as file:
            return dict(self._http.json("POST", "/predictions", query, file.read())["needs"])

    def logs(self, number: int, follow: bool = False, stream: str = "out") -> Iterator[str]:
        """What it wrote, in pieces; "".join(...) is all of it. `follow`: until it has ended. `stream`: "out" or "err"."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        offset = 0
        while True:
            with self._http.open("GET", f"/jobs/{int(number)}/logs", {"stream": stream, "offset": offset, "most": 1 << 18}) as r:
                data = r.read()
                following = int(r.getheader("X-Next-Offset") or offset + len(data))
                ended = r.getheader("X-Ended") == "1"
            if data:
                yield decoder.decode(data)
            elif following <= offset and (ended or not follow):
                return
            else:
                time.sleep(_POLL / 2 if follow else 0)
            offset = following

    def events(self, after: Optional[int] = None, job: Optional[int] = None, patience: float = _AWAY) -> Iterator[Event]:
        """What happens, for ever. `after`: an event's id, to go on from; absent: from now on.

        A broken connection is made again and nothing is missed; a server away for longer than `patience` seconds is raised.
        """
        away_since: Optional[float] = None
        while True:
            try:
                for event in self._stream(after, job):
                    away_since = None
                    if event is not None:
                        after = event.id
                        yield event
                away_since = away_since or time.monotonic()  # it has ended the stream: it is going down
            except Unreachable:
                away_since = away_since or time.monotonic()
                if time.monotonic() - away_since > patience:
                    raise
            time.sleep(0.2)

    def wait(self, number: int, timeout: Optional[float] = None) -> Job:
        """Until it is over. TimeoutError after `timeout` seconds. A server that restarts meanwhile is waited for."""
        end = None if timeout is None else time.monotonic() + timeout
        job = self.job(number)
        answered = time.monotonic()
        while not job.over:
            left = _SILENCE if end is None else end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"job {number} is not over after {timeout} s")
            try:
                # The stream is open before the job is asked for again: its end is in the one or in the other.
                for _ in self._stream(None, number, min(left, _SILENCE)):
                    job = self.job(number)
                    answered = time.monotonic()
                    if job.over or (end is not None and time.monotonic() >= end):
                        break
            except Unreachable:
                if end is None and time.monotonic() - answered > _AWAY:
                    raise
                time.sleep(min(_POLL / 4, left))
            except ServerError as e:
                if e.status not in (429, 503):  # too many streams: asking now and then does as well
                    raise
                time.sleep(min(_POLL, left))
                job = self.job(number)
        return job

    def _stream(self, after: Optional[int], job: Optional[int], silence: float = _SILENCE) -> Iterator[Optional[Event]]:
        """Events of one connection; None once it stands, and for every sign of life. Ends when it ends."""
        headers = {"Accept": "text/event-stream", **({} if after is None else {"Last-Event-ID": str(after)})}
        with self._http.open("GET", "/events", {"job": job}, headers=headers, timeout=silence) as response:
            yield None
            fields: Dict[str, str] = {}
            while True:
                try:
                    line = response.readline(1 << 20).decode("utf-8", "replace")
                except (OSError, ValueError, http.client.HTTPException):
                    return
                if not line.endswith("\n"):
                    return
                key, _, value = line.rstrip("\r\n").partition(":")
                if key:
                    fields[key] = value[1:] if value.startswith(" ") else value
                    continue
                if value or ":" in line:  # a comment: it is still there
                    yield None
                    continue
                yield _event(fields)
                fields = {}

    def _act(self, number: int, action: str) -> Job:
        return Job(self, self._http.json("POST", f"/jobs/{int(number)}/{action}"))

    @staticmethod
    def _submission(job: Mapping[str, Any]) -> Dict[str, Any]:
        if isinstance(job["command"], str):
            raise TypeError('command is a list of words, ["python3", "train.py"]: no shell reads it')
        sent = {key: value for key, value in job.items() if value is not None}
        sent["command"] = [os.fspath(word) for word in job["command"]]
        sent.setdefault("folder", os.getcwd())
        if "script_digest" not in sent:
            sent["script_digest"] = script_digest(sent["command"], os.fspath(sent["folder"]))
        if sent["script_digest"] is None:
            del sent["script_digest"]
        # As the command line does it: what makes the command mean the same, so that no secret goes along by accident.
        sent.setdefault("environment", {k: v for k, v in os.environ.items() if k in _TAKEN or k.startswith(("LC_", "CONDA_"))})
        return sent


def _event(fields: Mapping[str, str]) -> Optional[Event]:
    if "data" not in fields:
        return None
    try:
        data = json.loads(fields["data"])
        return Event(int(data.get("id") or fields.get("id") or 0), int(data.get("time_ms") or 0),
                     str(data.get("kind") or fields.get("event") or ""), int(data.get("job") or 0), str(data.get("text") or ""))
    except (ValueError, AttributeError, TypeError):
        return None
