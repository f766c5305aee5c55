"""A fake Kubernetes API server, shaped by what a real 1.20.2 and 1.32 were seen to do: objects of any kind in memory behind front.Front.

Switches: uid_precondition (a Binding's uid must match, as newer servers check it), forbidden ({("list", "nodes"), ...}: 403 for all but admins),
bookmark_every (seconds). forget() drops the past, so that older points get 410 as after a compaction.
"""

import base64
import copy
import json
import re
import threading
import time
import uuid

from front import Answer, failure

ADMINS = "system:masters"
CLUSTER_WIDE = {"nodes", "namespaces", "priorityclasses", "clusterroles", "clusterrolebindings", "persistentvolumes", "storageclasses"}
KINDS = {"pods": "Pod", "nodes": "Node", "events": "Event", "leases": "Lease", "namespaces": "Namespace", "configmaps": "ConfigMap",
         "priorityclasses": "PriorityClass", "poddisruptionbudgets": "PodDisruptionBudget", "persistentvolumeclaims": "PersistentVolumeClaim",
         "resourcequotas": "ResourceQuota", "serviceaccounts": "ServiceAccount"}
MERGE_KEYS = {"conditions": "type", "containers": "name", "env": "name", "taints": "key", "addresses": "type", "volumes": "name",
              "containerStatuses": "name"}
PATH = re.compile(r"^/(?:api/(?P<core>v1)|apis/(?P<group>[^/]+)/(?P<version>[^/]+))(?:/namespaces/(?P<space>[^/]+))?(?:/(?P<resource>[a-z]+)"
                  r"(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?)?$")


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _value(item, path):
    for part in path.split("."):
        item = item.get(part) if isinstance(item, dict) else None
    return "" if item is None else str(item)


def _selector(query):
    """A function that says whether an object is selected."""
    terms = []
    for text, value in ((query.get("fieldSelector", ""), _value),
                        (query.get("labelSelector", ""), lambda item, key: item["metadata"].get("labels", {}).get(key, ""))):
        for term in filter(None, text.split(",")):
            key, operator, wanted = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", term).groups()
            terms.append((value, key, operator == "!=", wanted))
    return lambda item: all((value(item, key) == wanted) != negated for value, key, negated, wanted in terms)


def merge(target, patch, strategic):
    """RFC 7386; strategic: lists of things that have a key are merged by it, as Kubernetes does for those in MERGE_KEYS."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    out = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            out.pop(name, None)
        elif strategic and name in MERGE_KEYS and isinstance(value, list) and isinstance(out.get(name), list):
            key = MERGE_KEYS[name]
            items = {item.get(key): item for item in out[name]}
            for item in value:
                if item.get("$patch") == "delete":
                    items.pop(item.get(key), None)
                else:
                    items[item.get(key)] = merge(items.get(item.get(key), {}), item, strategic)
            out[name] = list(items.values())
        else:
            out[name] = merge(out.get(name), value, strategic)
    return out


def json_patch(target, operations):
    """RFC 6902, as far as add, replace, remove and test go; None: a test failed or a place is not there."""
    out = copy.deepcopy(target)
    for operation in operations:
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = out
        try:
            for part in parents:
                place = place[int(part)] if isinstance(place, list) else place[part]
            if isinstance(place, list):
                last = len(place) if last == "-" else int(last)
            if operation["op"] == "add":
                place.insert(last, operation["value"]) if isinstance(place, list) else place.__setitem__(last, operation["value"])
            elif operation["op"] == "remove":
                del place[last]
            elif operation["op"] == "replace":
                place[last]  # it must be there
                place[last] = operation["value"]
            elif place[last] != operation["value"]:
                return None
        except (KeyError, IndexError, TypeError):
            return None
    return out


class FakeApi:
    """The backend; `tokens`: {token: (user, [groups])}."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.uid_precondition = False
        self.forbidden = set()
        self.bookmark_every = 60
        self.objects = {}  # (resource, namespace, name) -> object
        self.history = []  # (version, type, resource, namespace, object, the object before)
        self.version, self.forgotten = 1000, 1000
        self.pages = {}  # continue token -> (version, objects left)
        self.changed = threading.Condition()
        for space in ("default", "kube-system"):
            self._write("ADDED", "namespaces", None, {"metadata": {"name": space}, "status": {"phase": "Active"}})

    def forget(self):
        with self.changed:
            self.history.clear()
            self.forgotten = self.version
            self.pages.clear()

    # ---- requests

    def handle(self, request):
        if request.path in ("/healthz", "/readyz", "/livez"):
            return Answer(200, b"ok")
        if request.path == "/version":
            return self._json(200, {"major": "1", "minor": "fake", "gitVersion": "v1.fake"})
        who = self.tokens.get(request.token)
        if who is None:
            return failure(401, "Unauthorized", "Unauthorized")
        match = PATH.match(request.path)
        if not match:
            return failure(404, "NotFound", "the server could not find the requested resource")
        space, resource, name, sub = match["space"], match["resource"], match["name"], match["sub"]
        if resource is None and space:
            space, resource, name = None, "namespaces", space
        elif resource is None:
            return self._json(200, {"kind": "APIResourceList", "resources": [{"name": key, "kind": kind} for key, kind in KINDS.items()]})
        verb = {"GET": "watch" if "watch" in request.query else "get" if name else "list", "POST": "create", "PUT": "update", "PATCH": "patch",
                "DELETE": "delete"}[request.method]
        right = f"{resource}/{sub}" if sub else resource
        if ADMINS not in who[1] and (verb, right) in self.forbidden:
            return failure(403, "Forbidden", f'{right} is forbidden: User "{who[0]}" cannot {verb} resource "{right}" in API group '
                                             f'"{match["group"] or ""}" at the cluster scope')
        body = None
        if request.body:
            try:
                body = json.loads(request.body)
            except ValueError:
                return failure(400, "BadRequest", "the body is no JSON")
        if verb == "watch":
            return self._watch(resource, space, request.query)
        with self.changed:
            if verb == "list":
                return self._list(resource, space, request.query)
            return getattr(self, f"_{verb}")(resource, space, name, sub, body, request)

    @staticmethod
    def _json(code, value):
        return Answer(code, json.dumps(value).encode() + b"\n")

    def _absent(self, resource, name):
        return failure(404, "NotFound", f'{resource} "{name}" not found', name=name, kind=resource)

    # ---- reading

    def _all(self, resource, space):
        return [item for key, item in sorted(self.objects.items(), key=lambda pair: (pair[0][0], pair[0][1] or "", pair[0][2]))
                if key[0] == resource and (space is None or key[1] == space)]

    def _list(self, resource, space, query):
        if query.get("continue"):
            if query["continue"] not in self.pages:
                return failure(410, "Expired", "The provided continue parameter is too old", metadata={"continue": "fresh-but-inconsistent"})
            version, items = self.pages.pop(query["continue"])
        else:
            selected = _selector(query)
            version, items = self.version, [item for item in self._all(resource, space) if selected(item)]
        limit = int(query.get("limit") or 0) or len(items) or 1
        page, rest = items[:limit], items[limit:]
        metadata = {"resourceVersion": str(version)}
        if rest:
            metadata["continue"] = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()
            metadata["remainingItemCount"] = len(rest)
            self.pages[metadata["continue"]] = (version, rest)
        return self._json(200, {"kind": KINDS.get(resource, "Thing") + "List", "apiVersion": "v1", "metadata": metadata, "items": page})

    def _get(self, resource, space, name, _sub, _body, _request):
        item = self.objects.get((resource, space, name))
        return self._json(200, item) if item else self._absent(resource, name)

    def _watch(self, resource, space, query):
        since = int(query.get("resourceVersion") or 0) or self.version
        until = time.monotonic() + float(query.get("timeoutSeconds") or 1800)
        return Answer(200, self._events(resource, space, _selector(query), since, until, query.get("allowWatchBookmarks") == "true"))

    def _events(self, resource, space, selected, since, until, bookmarks):
        def line(kind, item):
            return json.dumps({"type": kind, "object": item}).encode() + b"\n"

        next_bookmark = time.monotonic() + self.bookmark_every
        while True:
            out = []
            with self.changed:
                if since < self.forgotten:
                    yield line("ERROR", json.loads(failure(410, "Expired", f"too old resource version: {since} ({self.forgotten})").body))
                    return
                if not self.history or self.history[-1][0] <= since:
                    self.changed.wait(max(0.0, min(0.25, until - time.monotonic())))
                for version, kind, of, where, item, before in self.history[self._after(since):]:
                    if of != resource or (space is not None and where != space):
                        continue
                    is_in, was_in = selected(item), before is not None and selected(before)
                    if kind == "DELETED":
                        if is_in or was_in:
                            out.append(line("DELETED", item))
                    elif is_in:
                        out.append(line("MODIFIED" if was_in else "ADDED", item))
                    elif was_in:
                        # As the real one does: with the content of before, and the version of now.
                        old = copy.deepcopy(before)
                        old["metadata"]["resourceVersion"] = str(version)
                        out.append(line("DELETED", old))
                since = max(since, self.version if since >= self.forgotten else since)
            yield from out or [None]
            over = time.monotonic() >= until
            if bookmarks and (over or time.monotonic() >= next_bookmark):
                next_bookmark = time.monotonic() + self.bookmark_every
                yield line("BOOKMARK", {"kind": KINDS.get(resource, "Thing"), "apiVersion": "v1", "metadata": {"resourceVersion": str(since)}})
            if over:
                return

    def _after(self, since):
        """Where in the history what is newer begins."""
        low, high = 0, len(self.history)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.history[middle][0] <= since else (low, middle)
        return low

    # ---- writing

    def _write(self, kind, resource, space, item):
        """`item` becomes what is there, or, deleted, what was."""
        with self.changed:
            self.version += 1
            item = copy.deepcopy(item)
            item["metadata"]["resourceVersion"] = str(self.version)
            key = (resource, space, item["metadata"]["name"])
            before = self.objects.get(key)
            if kind == "ADDED":
                item["metadata"].setdefault("uid", str(uuid.uuid4()))
                item["metadata"].setdefault("creationTimestamp", now())
            if kind == "DELETED":
                del self.objects[key]
            else:
                self.objects[key] = item
            self.history.append((self.version, kind, resource, space, item, before))
            self.changed.notify_all()
            return item

    def _create(self, resource, space, name, sub, body, _request):
        if not isinstance(body, dict):
            return failure(400, "BadRequest", "no object")
        if resource == "pods" and sub in ("binding", "eviction"):
            return getattr(self, f"_{sub}")(space, name, body)
        if space is not None and ("namespaces", None, space) not in self.objects:
            return self._absent("namespaces", space)
        if space is None and resource not in CLUSTER_WIDE:
            return failure(400, "BadRequest", "an empty namespace may not be set during creation")
        metadata = body.setdefault("metadata", {})
        if "name" not in metadata:
            metadata["name"] = metadata.get("generateName", "") + uuid.uuid4().hex[:5]
        for key in ("uid", "resourceVersion", "creationTimestamp"):
            metadata.pop(key, None)
        if space is not None:
            metadata["namespace"] = space
        if (resource, space, metadata["name"]) in self.objects:
            return failure(409, "AlreadyExists", f'{resource} "{metadata["name"]}" already exists')
        if resource == "nodes":
            taints = body.setdefault("spec", {}).setdefault("taints", [])
            taints.append({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"})
        elif resource == "pods":
            spec = body.setdefault("spec", {})
            spec.setdefault("schedulerName", "default-scheduler")
            spec.setdefault("terminationGracePeriodSeconds", 30)
            body["status"] = {"phase": "Pending", "qosClass": "BestEffort"}
            wanted = self.objects.get(("priorityclasses", None, spec.get("priorityClassName")))
            if spec.get("priorityClassName") and wanted is None:
                return failure(403, "Forbidden", f'no PriorityClass with name {spec["priorityClassName"]} was found')
            spec["priority"] = wanted["value"] if wanted else 0
            spec["preemptionPolicy"] = wanted.get("preemptionPolicy", "PreemptLowerPriority") if wanted else "PreemptLowerPriority"
        return self._json(201, self._write("ADDED", resource, space, body))

    def _update(self, resource, space, name, sub, body, _request):
        return self._replace(resource, space, name, sub, lambda old: body)

    def _patch(self, resource, space, name, sub, body, request):
        kind = request.content_type.split(";")[0]
        if kind == "application/json-patch+json":
            return self._replace(resource, space, name, sub, lambda old: json_patch(old, body))
        if kind in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            return self._replace(resource, space, name, sub, lambda old: merge(old, body, "strategic" in kind))
        return failure(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {kind}")

    def _replace(self, resource, space, name, sub, change):
        old = self.objects.get((resource, space, name))
        if old is None:
            return self._absent(resource, name)
        new = change(old)
        if new is None:
            return failure(422, "Invalid", "the patch does not apply")
        asked = new.get("metadata", {})
        if asked.get("resourceVersion", old["metadata"]["resourceVersion"]) != old["metadata"]["resourceVersion"]:
            return failure(409, "Conflict", f'Operation cannot be fulfilled on {resource} "{name}": the object has been modified')
        if asked.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            return failure(409, "Conflict", "Precondition failed: UID in precondition does not match")
        new = copy.deepcopy(new)
        new["metadata"] = {**new.get("metadata", {}), **{key: old["metadata"][key] for key in ("name", "uid", "creationTimestamp")}}
        if space is not None:
            new["metadata"]["namespace"] = space
        if sub == "status":
            new["spec"] = old.get("spec", {})
        elif "status" in old:
            new["status"] = old["status"]
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if new == old:
            return self._json(200, old)  # no write, no event: as the real one
        return self._json(200, self._write("MODIFIED", resource, space, new))

    def _delete(self, resource, space, name, _sub, body, request):
        item = self.objects.get((resource, space, name))
        if item is None:
            return self._absent(resource, name)
        conditions = (body or {}).get("preconditions", {})
        for key in ("uid", "resourceVersion"):
            if conditions.get(key, item["metadata"][key]) != item["metadata"][key]:
                return failure(409, "Conflict", f"Precondition failed: {key} does not match")
        grace = (body or {}).get("gracePeriodSeconds", request.query.get("gracePeriodSeconds"))
        return self._end(resource, space, item, None if grace is None else int(grace))

    def _end(self, resource, space, item, grace):
        """A pod that is bound ends when its kubelet says so; all else at once."""
        if resource == "pods" and item["spec"].get("nodeName") and grace != 0 and \
                item["status"]["phase"] not in ("Succeeded", "Failed"):
            if "deletionTimestamp" not in item["metadata"]:
                item = copy.deepcopy(item)
                item["metadata"]["deletionGracePeriodSeconds"] = item["spec"]["terminationGracePeriodSeconds"] if grace is None else grace
                item["metadata"]["deletionTimestamp"] = now()
                item = self._write("MODIFIED", resource, space, item)
            return self._json(200, item)
        return self._json(200, self._write("DELETED", resource, space, item))

    # ---- what pods have

    def _binding(self, space, name, body):
        pod = self.objects.get(("pods", space, name))
        if pod is None:
            return self._absent("pods", name)
        wanted = body.get("metadata", {})
        if self.uid_precondition:
            for key in ("uid", "resourceVersion"):
                if wanted.get(key) and wanted[key] != pod["metadata"][key]:
                    return failure(409, "Conflict", f"Precondition failed: {key} in precondition: {wanted[key]}, in object meta: {pod['metadata'][key]}")
        if pod["metadata"].get("deletionTimestamp"):
            return failure(409, "Conflict", f"pod {name} is being deleted, cannot be assigned to a host")
        if pod["spec"].get("schedulingGates"):
            return failure(409, "Conflict", f"pod {name} has non-empty .spec.schedulingGates")
        if pod["spec"].get("nodeName"):
            return failure(409, "Conflict", f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
        pod = copy.deepcopy(pod)
        pod["spec"]["nodeName"] = body["target"]["name"]
        pod["metadata"].setdefault("annotations", {}).update(wanted.get("annotations", {}))
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": now()}
        pod["status"]["conditions"] = [c for c in pod["status"].get("conditions", []) if c["type"] != "PodScheduled"] + [condition]
        self._write("MODIFIED", "pods", space, pod)
        return self._json(201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})

    def _eviction(self, space, name, body):
        pod = self.objects.get(("pods", space, name))
        if pod is None:
            return self._absent("pods", name)
        labels = pod["metadata"].get("labels", {})
        for budget in self._all("poddisruptionbudgets", space):
            wanted = budget["spec"].get("selector", {}).get("matchLabels", {})
            if wanted and all(labels.get(key) == value for key, value in wanted.items()) and \
                    budget.get("status", {}).get("disruptionsAllowed", 0) < 1:
                return failure(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
                               causes=[{"reason": "DisruptionBudget", "message": f"The disruption budget {budget['metadata']['name']} needs more"}])
        ended = self._end("pods", space, pod, (body.get("deleteOptions") or {}).get("gracePeriodSeconds"))
        return ended if ended.status >= 300 else self._json(201, {"kind": "Status", "metadata": {}, "status": "Success", "code": 201})
