#!/usr/bin/env python3
"""Our way to an API server by itself (kube_probe), against the fake one and a real one: lists, watches, faults, who leads."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from cluster import PATIENCE, KubeTest, die_with_parent

PROBE = os.environ.get("KUBE_PROBE") or str(pathlib.Path(os.environ["SHAREWELL"]).parent / "kube_probe")


class Probe:
    """A kube_probe that goes on until it is ended. What it says is taken in by a thread."""

    def __init__(self, kubeconfig, *words):
        self.process = subprocess.Popen([PROBE, kubeconfig, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        preexec_fn=die_with_parent)
        self.errors, self.objects, self.wrong = [], {}, []
        self.current, self.lists, self.leads, self.at = False, 0, False, None
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            word = json.loads(line)
            if "error" in word:
                self.errors.append(word["error"])
            elif "current" in word:
                self.current, self.lists = word["current"], word["lists"]
            elif "leads" in word:
                self.leads, self.at = word["leads"], word["at"]
            elif word["change"] == "put":
                # Never another uid under a name before the old one is told as gone.
                if self.objects.get(word["key"], word["uid"]) != word["uid"]:
                    self.wrong.append(word)
                self.objects[word["key"]] = word["uid"]
            elif self.objects.pop(word["key"], None) != word["uid"]:
                self.wrong.append(word)

    def end(self, how=None):
        if how:
            self.process.send_signal(how)
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE)
        self.thread.join(timeout=PATIENCE)
        self.process.stdout.close()


def once(kubeconfig, *words):
    """What a kube_probe says that ends by itself."""
    done = subprocess.run([PROBE, kubeconfig, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return json.loads(done.stdout.splitlines()[-1])


class Transport:
    """What must hold against both."""

    def probe(self, *words, user="admin", **how):
        probe = Probe(self.cluster.kubeconfig(user, **how), *words)
        self.addCleanup(lambda: probe.process.poll() is None and probe.end(signal.SIGKILL))
        return probe

    def maps(self, start, count):
        for i in range(start, start + count):
            self.cluster.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": f"m{i:04}"}, "data": {"a": "x" * (i % 50)}})

    def truth(self):
        return {f"{item['metadata']['namespace']}/{item['metadata']['name']}": item["metadata"]["uid"]
                for item in self.cluster.get("/api/v1/configmaps")["items"]}

    def clear(self):
        self.cluster.request("DELETE", "/api/v1/namespaces/default/configmaps")
        for item in self.cluster.get("/api/v1/namespaces/default/configmaps")["items"]:
            self.cluster.request("DELETE", f"/api/v1/namespaces/default/configmaps/{item['metadata']['name']}")

    def settle(self, probe, patience=PATIENCE):
        """Until it knows what there is, and nothing was told wrongly on the way."""
        def same():
            self.assertIsNone(probe.process.poll(), probe.errors)
            return probe.current and probe.objects == self.truth()
        self.cluster.wait_until(same, lambda: f"{probe.objects}\nis not\n{self.truth()}\n{probe.errors}", patience)
        self.assertEqual(probe.wrong, [])

    def tearDown(self):
        if self.cluster.front:
            self.cluster.front.clear()
        self.clear()

    def test_lists_in_pages_and_follows(self):
        self.maps(0, 25)
        probe = self.probe("reflect", "/api/v1/configmaps", 10)
        self.settle(probe)
        self.maps(100, 3)
        self.cluster.patch("/api/v1/namespaces/default/configmaps/m0001", {"data": {"b": "c"}})
        self.cluster.delete("/api/v1/namespaces/default/configmaps/m0002")
        self.settle(probe)
        # The same name with another uid.
        self.cluster.delete("/api/v1/namespaces/default/configmaps/m0003")
        self.maps(3, 1)
        self.settle(probe)
        self.assertEqual(probe.lists, 1)
        self.assertEqual(probe.errors, [])
        probe.end()

    def test_a_killed_server_is_followed_again(self):
        self.maps(0, 5)
        probe = self.probe("reflect", "/api/v1/configmaps")
        self.settle(probe)
        for i in range(1 if self.REAL else 2):
            self.cluster.kill_server()
            self.cluster.wait_until(lambda: not probe.current, "it does not notice")
            self.cluster.start_server()
            self.cluster.delete(f"/api/v1/namespaces/default/configmaps/m000{i}")
            self.maps(10 + i, 1)
            self.settle(probe)
        self.assertLessEqual(probe.lists, 3, "a list for each restart at most")
        self.assertTrue(any("nothing answers there" in e or "went away" in e or "broke off" in e for e in probe.errors), probe.errors)
        probe.end()

    def test_who_may_not_is_told_which_right_is_missing(self):
        if not self.REAL:
            self.cluster.fake.forbidden = {("list", "nodes")}
            self.addCleanup(setattr, self.cluster.fake, "forbidden", set())
        probe = self.probe("reflect", "/api/v1/nodes", user="nobody")
        self.cluster.wait_until(lambda: probe.errors, "it says nothing")
        self.assertRegex(probe.errors[0], r'User "nobody" cannot list resource "nodes" in API group "" at the cluster scope.*rbac\.yaml')
        # The pause grows: no storm of questions that are refused.
        time.sleep(3)
        self.assertLess(len(probe.errors), 8)
        self.assertFalse(any("nobody-token" in error for error in probe.errors))
        probe.end()

    def test_a_wrong_token_and_a_wrong_authority(self):
        config = self.cluster.kubeconfig("admin", name="wrong.kubeconfig")
        text = config.read_text(encoding="utf-8")
        config.write_text(text.replace("admin-token", "no-such-token"), encoding="utf-8")
        self.assertEqual(once(config, "ask", "GET", "/api/v1/nodes")["status"], 401)
        other = (self.cluster.folder / "other-ca.crt").as_posix()
        config.write_text(re.sub("certificate-authority-data: .*", f"certificate-authority: {other}", text), encoding="utf-8")
        error = once(config, "ask", "GET", "/api/v1/nodes")["error"]
        self.assertIn("its certificate is not to be trusted", error)
        self.assertNotIn("admin-token", error)

    def test_many_at_once(self):
        done = once(self.cluster.kubeconfig("admin"), "burst", 300, "/api/v1/namespaces/default")
        self.assertEqual(done["good"], 300)

    def test_one_leads_and_another_takes_over(self):
        first = self.probe("lease", "one", "first")
        self.cluster.wait_until(lambda: first.leads, lambda: f"nobody leads: {first.errors}")
        second = self.probe("lease", "one", "second")
        died = time.monotonic()
        first.end(signal.SIGKILL)
        self.cluster.wait_until(lambda: second.leads, "nobody takes over")
        took = second.at - died  # one clock for both
        # 15 s is tested by a manual clock (kube_lease_test.cc): here the machine may be slow.
        self.assertLess(took, 15 + 10)
        self.assertGreater(took, 4)
        third = self.probe("lease", "one", "third")
        second.end()  # in order: nobody has to wait
        ended = time.monotonic()
        self.cluster.wait_until(lambda: third.leads, "nobody takes over")
        self.assertLess(third.at - ended, 9.5)
        lease = self.cluster.get("/apis/coordination.k8s.io/v1/namespaces/sharewell-system/leases/one")["spec"]
        self.assertEqual((lease["holderIdentity"], lease["leaseDurationSeconds"], lease["leaseTransitions"]), ("third", 10, 3))
        third.end()

    def test_a_leader_whose_server_is_gone_stops(self):
        leader = self.probe("lease", "two", "leader")
        self.cluster.wait_until(lambda: leader.leads, "nobody leads")
        gone = time.monotonic()
        self.cluster.kill_server()
        try:
            self.cluster.wait_until(lambda: not leader.leads, "it leads for ever")
            self.assertLess(leader.at - gone, 7 + 10)
        finally:
            self.cluster.start_server()
        self.cluster.wait_until(lambda: leader.leads, "it does not lead again")
        leader.end()


class Faults:
    """What a front can do to both."""

    def test_a_watch_cut_at_any_byte_of_a_line(self):
        """One event: the server sends it again to each new watch, and each is cut some bytes later (every byte: reflector_test.cc)."""
        self.maps(0, 1)
        probe = self.probe("reflect", "/api/v1/configmaps", 500, 0.02)
        self.settle(probe)
        cuts = range(0, 800 if self.REAL else 250, 11 if self.REAL else 5)
        faults = [self.cluster.front.fault(path="watch=1", cut=cut) for cut in cuts]
        self.cluster.front.fault(path="watch=1", status=503)  # and one is refused
        # The watch that is under way met no fault: it ends with its connection.
        for connection in list(self.cluster.front.connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.maps(1, 1)
        self.settle(probe, 3 * PATIENCE)
        length = next(i for i, fault in enumerate(faults) if not fault.met)
        self.assertGreater(length, 25, "the line was longer than that")
        self.cluster.front.clear()
        self.maps(2, 1)
        self.settle(probe)
        self.assertEqual(probe.lists, 1, probe.errors)
        probe.end()

    def test_a_storm_of_errors_and_too_many_requests(self):
        self.maps(0, 2)
        storm = self.cluster.front.fault(path=r"configmaps", status=500, times=4)
        self.cluster.front.fault(path=r"configmaps", status=429, retry_after=2)
        probe = self.probe("reflect", "/api/v1/configmaps", 500, 0.1)
        self.cluster.wait_until(lambda: any("429" in e for e in probe.errors), lambda: probe.errors)
        self.settle(probe)
        asked = self.cluster.front.asked("GET", r"configmaps\?limit=500")
        refused = next(i for i, one in enumerate(asked) if one[3] == 429)
        self.assertGreater(asked[refused + 1][0] - asked[refused][0], 2, "it did not wait as long as it was asked to")
        self.assertEqual(storm.met, 4)
        probe.end()

    def test_a_list_whose_next_page_is_forgotten(self):
        self.maps(0, 7)
        # The second page is held back until the past is forgotten.
        held = self.cluster.front.fault(path=r"continue=", hold=threading.Event())
        self.addCleanup(held.hold.set)
        probe = self.probe("reflect", "/api/v1/configmaps", 3)
        self.cluster.wait_until(lambda: held.met, "no second page is asked for")
        self.maps(50, 1)
        self.cluster.forget()
        held.hold.set()
        self.settle(probe)
        self.assertTrue(any("410" in e for e in probe.errors), probe.errors)
        self.assertEqual(probe.lists, 2)
        probe.end()

    def test_a_renewal_whose_answer_is_lost(self):
        leader = self.probe("lease", "lost", "leader")
        self.cluster.wait_until(lambda: leader.leads, "nobody leads")
        lost = self.cluster.front.fault(method="PATCH", path=r"leases/lost", lose=True)
        self.cluster.wait_until(lambda: lost.met, "it does not renew")
        lease = "/apis/coordination.k8s.io/v1/namespaces/sharewell-system/leases/lost"
        for _ in range(2):  # what was lost, and the next one
            before = self.cluster.get(lease)["metadata"]["resourceVersion"]
            self.cluster.wait_until(lambda b=before: self.cluster.get(lease)["metadata"]["resourceVersion"] != b, "it does not renew again")
        self.cluster.wait_until(lambda: leader.leads, "it does not lead")
        self.assertEqual(self.cluster.get(lease)["spec"]["leaseTransitions"], 0)
        leader.end()


class OnFake(Transport, Faults, KubeTest):
    def test_a_point_that_was_forgotten_is_listed_anew(self):
        self.maps(0, 3)
        probe = self.probe("reflect", "/api/v1/configmaps")
        self.settle(probe)
        self.cluster.kill_server()
        with self.cluster.fake.changed:
            self.cluster.fake.forgotten = self.cluster.fake.version + 1
            self.cluster.fake.version += 1
            self.cluster.fake.history.clear()
        self.cluster.start_server()
        self.cluster.delete("/api/v1/namespaces/default/configmaps/m0001")
        self.settle(probe)
        self.assertEqual(probe.lists, 2)
        self.assertTrue(any("too old resource version" in e for e in probe.errors), probe.errors)
        probe.end()


class OnReal(Transport, KubeTest):
    REAL = True

    def test_etcd_restarted(self):
        self.maps(0, 3)
        probe = self.probe("reflect", "/api/v1/configmaps")
        self.settle(probe)
        self.cluster.kill_etcd()
        time.sleep(1)
        self.cluster.start_etcd()
        self.cluster.wait_ready()
        self.cluster.wait_until(lambda: self.cluster.request("DELETE", "/api/v1/namespaces/default/configmaps/m0001")[0] in (200, 404), "etcd is away")
        self.maps(20, 1)
        self.settle(probe)
        probe.end()

    def test_a_client_certificate(self):
        config = self.cluster.kubeconfig("admin", certificate=True, name="certificate.kubeconfig")
        self.assertNotIn("token", config.read_text(encoding="utf-8"))
        self.assertEqual(once(config, "ask", "GET", "/api/v1/nodes")["status"], 200)


class OnRealWithFaults(Faults, Transport, KubeTest):
    """The faults before the real one; what has none was tested without a front."""

    REAL = True
    OPTIONS = {"faults": True}
    for name in [name for name in dir(Transport) if name.startswith("test_")]:
        locals()[name] = None
    del name


if __name__ == "__main__":
    unittest.main(verbosity=2)
