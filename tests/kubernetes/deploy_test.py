#!/usr/bin/env python3
"""deploy/kubernetes against a real API server: every object is taken as it is, the pods of its templates too, and the rights of the service
account are those that the scheduler needs, and no others."""

import unittest

from cluster import REPOSITORY, KubeTest, manifests, place_of

BASE = "deploy/kubernetes/base"
SPACE = "sharewell-system"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases"


class Deploy(KubeTest):
    REAL = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster.apply(REPOSITORY / BASE)

    def allowed(self, method, path, body=None, kind="application/json", user="scheduler"):
        """Whether the scheduler's account may; what is not there, or conflicts, was allowed."""
        status, answer = self.cluster.request(method, path, body, user=user, kind=kind)
        self.assertNotEqual(status, 401, answer)
        return status != 403

    def test_every_object_is_there(self):
        kinds = []
        for document in manifests(REPOSITORY / BASE):
            path, _ = place_of(document)
            found = self.cluster.get(f"{path}/{document['metadata']['name']}")
            kinds.append(found.get("kind", document["kind"]))
        for kind in ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Deployment", "DaemonSet"):
            self.assertIn(kind, kinds)
        self.assertEqual(self.cluster.get(f"/apis/apps/v1/namespaces/{SPACE}/deployments/sharewell")["spec"]["replicas"], 2)

    def test_pods_of_the_templates_are_taken(self):
        for kind, name in (("deployments", "sharewell"), ("daemonsets", "sharewell-agent"), ("daemonsets", "sharewell-mps")):
            template = self.cluster.get(f"/apis/apps/v1/namespaces/{SPACE}/{kind}/{name}")["spec"]["template"]
            pod = self.cluster.create(f"/api/v1/namespaces/{SPACE}/pods",
                                      {"metadata": {"name": name, "labels": template["metadata"]["labels"]}, "spec": template["spec"]})
            self.assertEqual(pod["spec"]["schedulerName"], "default-scheduler")
            self.cluster.delete(f"/api/v1/namespaces/{SPACE}/pods/{name}")

    def test_the_scheduler_may_what_it_needs(self):
        self.cluster.add_node("n1")
        self.cluster.add_pod("p")
        merge = "application/merge-patch+json"
        for path in ("/api/v1/pods", "/api/v1/nodes", "/api/v1/persistentvolumeclaims", "/api/v1/persistentvolumes"):
            self.assertTrue(self.allowed("GET", path), path)
            self.assertTrue(self.allowed("GET", path + "?watch=1&timeoutSeconds=1"), path)
        pod = "/api/v1/namespaces/default/pods/p"
        self.assertTrue(self.allowed("PATCH", "/api/v1/nodes/n1", {"metadata": {"annotations": {"sharewell.io/claims": "x"}}}, merge))
        self.assertTrue(self.allowed("PATCH", pod + "/status", {"status": {"message": "x"}}, merge))
        self.assertTrue(self.allowed("POST", "/api/v1/namespaces/default/events", {"metadata": {"generateName": "p."}, "involvedObject": {
            "kind": "Pod", "name": "p", "namespace": "default"}, "reason": "Waits"}))
        self.assertTrue(self.allowed("POST", pod + "/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p", "annotations": {
            "sharewell.io/gpu-ids": "GPU-1"}}, "target": {"apiVersion": "v1", "kind": "Node", "name": "n1"}}))
        self.assertEqual(self.cluster.pod("p")["metadata"]["annotations"]["sharewell.io/gpu-ids"], "GPU-1")
        self.assertTrue(self.allowed("POST", pod + "/eviction", {"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": "p"}}))
        self.assertTrue(self.allowed("DELETE", pod, {"gracePeriodSeconds": 0}))
        self.assertTrue(self.allowed("GET", LEASES + "/sharewell"))
        self.assertTrue(self.allowed("POST", LEASES, {"metadata": {"name": "sharewell"}, "spec": {"holderIdentity": "a"}}))
        self.assertTrue(self.allowed("PATCH", LEASES + "/sharewell", {"spec": {"holderIdentity": "b"}}, merge))

    def test_and_nothing_else(self):
        for method, path, body, kind in (
                ("GET", "/api/v1/secrets", None, "application/json"),
                ("GET", "/api/v1/configmaps", None, "application/json"),
                ("GET", f"/api/v1/namespaces/{SPACE}/serviceaccounts", None, "application/json"),
                ("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "x"}}, "application/json"),
                ("PATCH", "/api/v1/namespaces/default/pods/p", {"spec": {}}, "application/merge-patch+json"),
                ("PATCH", "/api/v1/nodes/n1/status", {"status": {}}, "application/merge-patch+json"),
                ("DELETE", "/api/v1/nodes/n1", None, "application/json"),
                ("PATCH", LEASES + "/another", {"spec": {}}, "application/merge-patch+json"),
                ("DELETE", LEASES + "/sharewell", None, "application/json"),
                ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler", None, "application/json"),
                ("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {"metadata": {"name": "x"}}, "application/json")):
            self.assertFalse(self.allowed(method, path, body, kind), f"{method} {path}")

    def test_the_agent_may_say_what_a_node_has_and_nothing_else(self):
        merge, node = "application/merge-patch+json", "/api/v1/nodes/n3"
        self.cluster.add_node("n3")
        self.assertTrue(self.allowed("GET", node, user="agent"))
        self.assertTrue(self.allowed("PATCH", node, {"metadata": {"annotations": {"sharewell.io/gpus": "H200 GPU-1"}}}, merge, "agent"))
        self.assertTrue(self.allowed("PATCH", node + "/status", {"status": {"capacity": {"sharewell.io/gpu-memory": "1"}}}, merge, "agent"))
        for method, path in (("GET", "/api/v1/nodes"), ("GET", "/api/v1/pods"), ("GET", "/api/v1/secrets"), ("DELETE", node), ("PUT", node),
                             ("POST", "/api/v1/namespaces/default/pods"), ("GET", LEASES + "/sharewell")):
            self.assertFalse(self.allowed(method, path, {} if method in ("PUT", "POST") else None, user="agent"), f"{method} {path}")

    def test_only_the_init_container_of_the_agent_has_a_token(self):
        spec = self.cluster.get(f"/apis/apps/v1/namespaces/{SPACE}/daemonsets/sharewell-agent")["spec"]["template"]["spec"]
        self.assertIs(spec["automountServiceAccountToken"], False)
        (token,) = [volume["name"] for volume in spec["volumes"] if "projected" in volume]
        self.assertEqual([container["name"] for container in spec["initContainers"] + spec["containers"]
                          if token in [mount["name"] for mount in container["volumeMounts"]]], ["publish-gpus"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
