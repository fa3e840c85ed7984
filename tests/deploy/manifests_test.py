"""Every overlay and component of deploy/kubernetes, rendered as `kubectl apply -k` does it."""

import copy
import unittest

import rendering

if rendering.tools_folder():
    rendering.use_tools()
    import kubernetes_validate

import objects
import rules
from cases import run_tests

OLDEST = "1.29"
IN_PLACE = "1.35"  # restartPolicyRules


def newest():
    return kubernetes_validate.latest_version()


class SchemaTest(unittest.TestCase):
    """kubernetes-validate, strictly: unknown fields too are refused."""

    def validate(self, overlay, version):
        for item in objects.for_schemas(rendering.rendered(overlay)):
            with self.subTest(overlay=overlay, version=version, item=objects.name_of(item)):
                kubernetes_validate.validate(item, version, strict=True)

    def test_oldest_version(self):
        for overlay in rendering.ALL:
            if overlay not in ("in-place-restart", "everything"):
                self.validate(overlay, OLDEST)

    def test_newest_version(self):
        self.assertGreaterEqual(newest(), IN_PLACE)
        for overlay in rendering.ALL:
            self.validate(overlay, newest())

    def test_rejects_a_field_that_the_version_lacks(self):
        with self.assertRaises(kubernetes_validate.ValidationError):
            for item in objects.for_schemas(rendering.rendered("in-place-restart")):
                kubernetes_validate.validate(item, OLDEST, strict=True)

    def test_rejects_an_unknown_field_in_a_job_set(self):
        broken = copy.deepcopy(rendering.rendered("job-set"))
        job_set = next(item for item in broken if item["kind"] == "JobSet")
        job_set["spec"]["replicatedJobs"][1]["template"]["spec"]["completion"] = 2
        with self.assertRaises(kubernetes_validate.ValidationError):
            for item in objects.for_schemas(broken):
                kubernetes_validate.validate(item, newest(), strict=True)


class RulesTest(unittest.TestCase):
    def test_hold_for_all_manifests(self):
        for overlay in rendering.ALL:
            with self.subTest(overlay=overlay):
                self.assertEqual(rules.check(rendering.rendered(overlay)), [])


class RunTest(unittest.TestCase):
    """What tells one run from the next."""

    def names(self, token):
        found = rendering.rendered("cpu-demo", token)
        pairs = rules.coordinators(found) + rules.workers(found)
        return {objects.environment(w, c)["MUSTER_JOB"] for w, c in pairs}

    def test_name_depends_on_the_token(self):
        first, second = self.names("a" * 43), self.names("b" * 43)
        self.assertEqual(len(first), 1)
        self.assertNotEqual(first, second)

    def test_two_runs_in_a_namespace_share_no_names(self):
        def names(overlay):
            found = rendering.rendered(overlay)
            return {(item["kind"], item["metadata"]["name"]) for item in found if item["kind"] != "Namespace"}
        self.assertEqual(names("mutual-tls") & names("second-run"), set())


class TokenTest(unittest.TestCase):
    def test_tree_has_no_token(self):
        tree = rendering.Tree()
        self.assertEqual([str(path) for path in tree.root.rglob("token*")], [])

    def test_rendering_needs_a_token(self):
        tree = rendering.Tree()
        for overlay in rendering.OVERLAYS:
            status, output = tree.kustomize(overlay)
            self.assertNotEqual(status, 0, output)
            self.assertIn("token", output)


class VersionTest(unittest.TestCase):
    def test_images_are_of_this_version(self):
        with open("client/include/muster/version.h", encoding="utf-8") as header:
            version = next(line.split('"')[1] for line in header if line.startswith("#define MUSTER_VERSION "))
        for w, c, name in rules.containers(rendering.rendered("cpu-demo")):
            self.assertEqual(c["image"].split(":")[1], version, name)


if __name__ == "__main__":
    run_tests(rendering.tools_folder())
