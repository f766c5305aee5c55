#!/usr/bin/env python3
"""docs/openapi.json and the server say the same: every route of the one is a route of the other, and
every answer is as it is written down. The program is $SHAREWELL."""

import json
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from api_server import Server, SocketConnection  # noqa: E402

DOCUMENT = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$ref", "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "minimum",
         "maximum", "minItems", "description", "format"}


def is_type(value, name):
    if name in ("number", "integer"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (name == "number" or float(value).is_integer())
    return isinstance(value, TYPES[name])


def breaches(value, schema, place="answer"):
    """What of `value` is not as the schema has it. Knows what our document uses, and refuses the rest."""
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError(f"{place}: this check does not know {unknown}")
    if "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        yield from breaches(value, schema, place)
        return
    if "anyOf" in schema:
        if all(list(breaches(value, part, place)) for part in schema["anyOf"]):
            yield f"{place}: {value!r:.80} is none of what it may be"
        return
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(is_type(value, name) for name in types):
        yield f"{place}: {value!r:.80} is no {' or '.join(types)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r:.80} is none of {schema['enum']}"
    if is_type(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{place}: {value} is out of bounds"
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{place}: too few"
        for index, item in enumerate(value):
            yield from breaches(item, schema.get("items", {}), f"{place}[{index}]")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for key in schema.get("required", []):
            if key not in value:
                yield f"{place}: {key} is missing"
        others = schema.get("additionalProperties", True)
        for key, member in value.items():
            if key in properties:
                yield from breaches(member, properties[key], f"{place}.{key}")
            elif others is False:
                yield f"{place}: {key} is not written down"
            elif isinstance(others, dict):
                yield from breaches(member, others, f"{place}.{key}")


OPERATIONS = {(method.upper(), path): operation for path, methods in DOCUMENT["paths"].items()
              for method, operation in methods.items()}


class OpenApiTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="sharewell-")
        self.addCleanup(folder.cleanup)
        self.server = Server(pathlib.Path(folder.name))
        self.addCleanup(self.server.stop)
        self.tried = set()

    def check(self, method, route, status, query="", body=None, headers=None, door=None, **parameters):
        """Asks, and holds the answer against what is written of that route and status."""
        path = "/".join(str(parameters[part[1:-1]]) if part.startswith("{") else part for part in route.split("/"))
        answer = self.server.ask(method, path + query, body, headers, door)
        self.assertEqual(answer.status, status, (method, path, answer.bytes))
        written = OPERATIONS[method, route]["responses"]
        self.assertIn(str(status), written, f"{method} {route} answers {status}, which is not written down")
        content = written[str(status)]["content"]
        self.assertIn(answer.type, content, f"{method} {route} {status}")
        for name in written[str(status)].get("headers", {}):
            self.assertIn(name, answer.headers)
        if answer.type.endswith("json"):
            found = list(breaches(answer.json(), content[answer.type]["schema"]))
            self.assertEqual(found, [], f"{method} {path} {status}")
        self.tried.add((method, route))
        return answer

    def check_body(self, method, route, body):
        """A body that the server takes is one that is written down."""
        content = OPERATIONS[method, route]["requestBody"]["content"]["application/json"]
        self.assertEqual(list(breaches(body, content["schema"], "body")), [])

    def test_every_route_answers_as_it_is_written(self):
        listed = self.check("GET", "/api/v1/routes", 200).json()["routes"]
        self.assertEqual({tuple(route) for route in listed}, set(OPERATIONS), "server and document differ")

        full = {"name": "nap", "command": ["sleep", "60"], "folder": str(self.server.folder), "environment": {"A": "b"},
                "gpus": 1, "cores": 1, "gpu_memory_bytes": 1e9, "memory_bytes": 1e9, "gpu_models": ["H200"],
                "exclusive": False, "max_slowdown": 1.5, "sm_share": 0.6, "latency_sensitive": True, "no_guests": True, "priority": 1, "time_limit_seconds": 600, "image": None,
                "after": [], "held": True, "requeue": True, "terminal": False, "profile": None, "array": None, "array_at_once": None,
                "watch": False, "script_digest": "0123456789abcdef",
                "needs": {"source": "predicted", "from": "a guess", "gpu": "H200", "busy": 0.5,
                          "gpu_memory_bytes": 1e9, "duration_seconds": 60}}
        several = {"jobs": [{"command": ["true"], "gpus": 0}, {"command": ["false"], "gpus": 0}]}
        for body in (full, several):
            self.check_body("POST", "/api/v1/jobs", body)
            self.check("POST", "/api/v1/jobs", 201, body=body)
        self.check("POST", "/api/v1/jobs", 200, "?dry_run=1", body=full)
        # A name that is no UTF-8 in what is run.
        odd = {"command": ["echo", {"bytes": "/w=="}], "gpus": 0}
        self.check_body("POST", "/api/v1/jobs", odd)
        self.check("POST", "/api/v1/jobs", 201, body=odd)
        for number in (2, 3, 4):
            self.server.wait_until(number, "finished", "failed")
        for body in ("{", {"command": []}, {"comand": ["a"]}, {"command": ["a"], "gpus": -1}, {"jobs": []}):
            self.check("POST", "/api/v1/jobs", 400, body=body)
        self.check("POST", "/api/v1/jobs", 401, body=full, door=self.server.tcp())
        self.check("POST", "/api/v1/jobs", 413, headers={"Content-Length": "900000000"}, body=b"")

        self.check("GET", "/api/v1", 200)
        self.assertEqual(len(self.check("GET", "/api/v1/jobs", 200).json()["jobs"]), 4)
        self.check("GET", "/api/v1/jobs", 200, "?phase=held,running&live=1&limit=1&below=9&user=nobody")
        self.check("GET", "/api/v1/jobs", 400, "?limit=many")
        self.check("GET", "/api/v1/jobs/{number}", 200, number=1)
        self.check("GET", "/api/v1/jobs/{number}", 404, number=99)
        self.check("GET", "/api/v1/jobs/{number}/why", 200, number=1)
        self.check("GET", "/api/v1/jobs/{number}/why", 404, number=99)
        log = self.check("GET", "/api/v1/jobs/{number}/logs", 200, "?stream=out&offset=0&most=100", number=4)
        self.assertEqual((log.bytes, log.headers["X-Ended"]), (b"\xff\n", "1"))
        self.check("GET", "/api/v1/jobs/{number}/logs", 400, "?offset=here", number=1)
        self.check("GET", "/api/v1/jobs/{number}/logs", 401, number=1, door=self.server.tcp())
        self.check("GET", "/api/v1/jobs/{number}/logs", 404, number=99)
        self.check("GET", "/api/v1/jobs/{number}/step", 401, number=1, door=self.server.tcp())
        self.check("GET", "/api/v1/jobs/{number}/step", 404, number=99)
        self.check("GET", "/api/v1/jobs/{number}/step", 404, number=1)
        self.check("GET", "/api/v1/jobs/{number}/terminal", 401, number=1, door=self.server.tcp())
        self.check("GET", "/api/v1/jobs/{number}/terminal", 404, number=99)
        self.check("GET", "/api/v1/jobs/{number}/terminal", 409, number=4)
        sits = self.check("POST", "/api/v1/jobs", 201, body={"command": ["sleep", "60"], "gpus": 0, "cores": 0.1, "terminal": True}).json()["jobs"][0]["number"]
        self.server.wait_until(sits, "starting")
        self.check("GET", "/api/v1/jobs/{number}/terminal", 200, number=sits)
        self.check("POST", "/api/v1/jobs/{number}/cancel", 200, number=sits)
        self.server.wait_until(sits, "cancelled")
        self.check("POST", "/api/v1/jobs/{number}/release", 200, number=1)
        self.server.wait_until(1, "running")
        self.check("POST", "/api/v1/jobs/{number}/hold", 409, number=1)
        self.check("POST", "/api/v1/jobs/{number}/cancel", 200, number=1)
        self.server.wait_until(1, "cancelled")
        self.check("POST", "/api/v1/jobs/{number}/cancel", 409, number=1)
        self.check("POST", "/api/v1/jobs", 201, body={**full, "held": False, "gpus": 2, "sm_share": None, "after": [4]})
        self.check("POST", "/api/v1/jobs", 400, body={**full, "after": [1]})
        held = self.check("POST", "/api/v1/jobs", 201, body=full).json()["jobs"][0]["number"]
        self.check("POST", "/api/v1/jobs/{number}/hold", 200, number=held)
        for act in ("pause", "resume"):        # it waits, and this server's GPUs are not there
            self.check("POST", f"/api/v1/jobs/{{number}}/{act}", 409, number=held)
        for act in ("cancel", "hold", "release", "pause", "resume"):
            self.check("POST", f"/api/v1/jobs/{{number}}/{act}", 404, number=99)
            self.check("POST", f"/api/v1/jobs/{{number}}/{act}", 401, number=1, door=self.server.tcp())

        self.check("GET", "/api/v1/gpus", 200)
        self.check("GET", "/api/v1/nodes", 200)
        self.assertEqual(self.check("GET", "/api/v1/openapi.json", 200).json(), DOCUMENT)
        for act in ("drain", "undrain"):
            self.check("POST", f"/api/v1/gpus/{{gpu}}/{act}", 200, gpu=1)
            self.check("POST", f"/api/v1/gpus/{{gpu}}/{act}", 404, gpu=7)
            self.check("POST", f"/api/v1/gpus/{{gpu}}/{act}", 401, gpu=1, door=self.server.tcp())
        self.check("GET", "/api/v1/profiles", 200)
        self.assertTrue(self.check("GET", "/api/v1/pairs", 200).json()["pairs"])
        self.check("GET", "/api/v1/jobs/{number}/samples", 200, number=4)
        self.check("GET", "/api/v1/jobs/{number}/samples", 400, "?most=all", number=4)
        self.check("GET", "/api/v1/jobs/{number}/samples", 404, number=99)
        self.check("GET", "/api/v1/jobs/{number}/neighbours", 200, number=4)
        self.check("GET", "/api/v1/jobs/{number}/neighbours", 404, number=99)
        self.check("GET", "/api/v1/jobs/{number}/speed", 200, number=4)
        self.check("GET", "/api/v1/jobs/{number}/speed", 404, number=99)
        self.check("GET", "/", 200)
        self.check("GET", "/dashboard/{file}", 200, file="app.js")
        self.check("GET", "/dashboard/{file}", 404, file="none.js")
        self.check("GET", "/api/v1/forecast", 200)
        self.check("GET", "/api/v1/limits", 200)
        self.check("GET", "/api/v1/projects", 200)
        self.check("GET", "/api/v1/limits", 200, "?user=root")
        self.check("GET", "/api/v1/limits", 404, "?user=nobody-of-that-name")
        self.check("GET", "/api/v1/limits", 401, door=self.server.tcp())
        self.check_body("POST", "/api/v1/tokens", {"label": "a dashboard"})
        token = self.check("POST", "/api/v1/tokens", 201, body={"label": "a dashboard"}).json()["id"]
        self.check("POST", "/api/v1/tokens", 400, body={"user": "root"})
        self.check("GET", "/api/v1/tokens", 200)
        self.check("GET", "/api/v1/tokens", 403, door=self.server.tcp())
        self.check("POST", "/api/v1/tokens/{id}/revoke", 200, id=token)
        self.check("POST", "/api/v1/tokens/{id}/revoke", 404, id=token)
        link = self.check("POST", "/api/v1/sign-in/link", 201).json()["link"]
        code = {"code": link.split("#code=")[1]}
        self.check_body("POST", "/api/v1/sign-in", code)
        self.check("POST", "/api/v1/sign-in", 201, body=code, door=self.server.tcp())
        self.check("POST", "/api/v1/sign-in", 403, body=code, door=self.server.tcp())
        self.check("POST", "/api/v1/sign-in", 400, body={"cod": "x"}, door=self.server.tcp())
        what_if = {"policies": ["slot", "sharewell"], "days": 1}
        for path in ("/api/v1/whatif", "/api/v1/simulations"):  # the second is the old name
            self.check_body("POST", path, what_if)
            self.check("POST", path, 200, body=what_if)
            self.check("POST", path, 400, body={"policies": ["no such policy"]})
        self.check_body("POST", "/api/v1/whatif", {**what_if, "follow": "mine-1"})
        self.check("POST", "/api/v1/whatif", 200, body={**what_if, "follow": "mine-1"})
        self.check("GET", "/api/v1/whatif/{follow}", 200, follow="mine-1")
        trace = b"id,user,submit_seconds,duration_seconds,gpus\na,ann,0,100,1\nb,bo,0,50,1\n"
        self.check("POST", "/api/v1/simulate", 200, "?policies=slot,sharewell&name=jobs.csv&follow=mine-2", body=trace)
        for query, body in (("?policies=slot", b"no trace"), ("", trace), ("?policies=slot&follow=..", trace)):
            self.check("POST", "/api/v1/simulate", 400, query, body=body)
        self.check("POST", "/api/v1/simulate", 401, "?policies=slot", body=trace, door=self.server.tcp())
        self.check("GET", "/api/v1/usage", 200)
        self.check("GET", "/api/v1/usage", 200, "?seconds=3600")
        self.check("GET", "/api/v1/usage", 400, "?seconds=1")
        for by in ("user", "project", "gpu"):
            self.check("GET", "/api/v1/usage", 200, f"?by={by}&from=2026-01-01")
        self.check("GET", "/api/v1/usage", 200, headers={"Accept": "text/csv"})
        for query in ("?by=colour", "?by=user&from=yesterday", "?from=2026-01-02&to=2026-01-01", "?format=xml"):
            self.check("GET", "/api/v1/usage", 400, query)
        model = (ROOT / "fuzz" / "corpus" / "layer_list" / "image.json").read_bytes()
        self.check("POST", "/api/v1/predictions", 200, "?batch=4&precision=bf16&gpu=H200", body=model)
        self.check("POST", "/api/v1/predictions", 400, body=b"no model")
        self.check("GET", "/api/v1/predictor", 200)
        self.check("POST", "/api/v1/predictor", 400, "?use=best")
        self.check("POST", "/api/v1/predictor", 401, "?use=shipped", door=self.server.tcp())
        self.check("POST", "/api/v1/predictor", 200, "?use=shipped")
        self.check("POST", "/api/v1/predictions", 401, body=b"x", door=self.server.tcp())
        self.assertIn("sharewell_jobs", self.check("GET", "/metrics", 200).bytes.decode())
        self.assertEqual(self.check("GET", "/healthz", 200).bytes, b"ok\n")
        self.check_events()
        self.assertEqual(self.tried, set(OPERATIONS), "these were not tried")

    def check_events(self):
        connection = SocketConnection(self.server.socket)
        self.addCleanup(connection.close)
        connection.request("GET", "/api/v1/events?after=0")
        response = connection.getresponse()
        self.assertEqual((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
        expected, event = 1, {}
        while expected <= 5:
            line = response.readline().decode("utf-8").rstrip("\n")
            if line.startswith(":"):
                continue
            if line:
                name, value = line.split(": ", 1)
                event[name] = value
                continue
            if not event:
                continue
            data = json.loads(event["data"])
            self.assertEqual(list(breaches(data, {"$ref": "#/components/schemas/Event"})), [])
            self.assertEqual((event["id"], event["event"], data["id"]), (str(expected), data["kind"], expected))
            expected, event = expected + 1, {}
        self.check("GET", "/api/v1/events", 400, "?after=now")


if __name__ == "__main__":
    unittest.main()
