"""tools/third_party.py lists all that tools/install-deps installs to be linked in, with terms and as SPDX."""

import fnmatch
import json
import subprocess
import sys
import unittest

THIRD_PARTY, INSTALL_DEPS = sys.argv.pop(1), sys.argv.pop(1)

# Packages that only build, or that only examples and tests are linked with.
NOT_INSIDE = {"g++", "bazel-bootstrap", "bazel-rules-java", "bazel-rules-proto", "protobuf-compiler",
              "protobuf-compiler-grpc", "libcsv-dev", "libhwloc-dev"}
# Packages whose names contain a version.
NAMES = {"libboost-dev": "libboost*-dev"}


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, env={"SOURCE_DATE_EPOCH": "1700000000", "PATH": "/usr/bin:/bin"},
                          text=True).stdout


class ThirdPartyTest(unittest.TestCase):
    def setUp(self):
        self.document = json.loads(run(THIRD_PARTY, "spdx"))
        self.inside = {package["name"]: package for package in self.document["packages"]}

    def test_every_package_of_the_build_is_listed(self):
        for package in run(INSTALL_DEPS, "--build", "--print").split():
            if package not in NOT_INSIDE:
                self.assertTrue(fnmatch.filter(self.inside, NAMES.get(package, package)),
                                f"{package} is installed by tools/install-deps --build, and tools/third_party.py does "
                                "not say under which licence")

    def test_each_has_a_version_a_licence_and_a_relationship(self):
        linked = {relation["spdxElementId"] for relation in self.document["relationships"]}
        for name, package in self.inside.items():
            self.assertTrue(package["versionInfo"] and package["licenseDeclared"], name)
            self.assertTrue(package["SPDXID"] in linked or name == "muster", name)

    def test_date_is_that_of_the_source(self):
        self.assertEqual(self.document["creationInfo"]["created"], "2023-11-14T22:13:20Z")

    def test_includes_the_terms_of_each_package(self):
        texts = run(THIRD_PARTY, "texts")
        for name in self.inside:
            self.assertTrue(name == "muster" or f"== {name}\n" in texts, name)
        self.assertIn("Boost Software License - Version 1.0", texts)
        self.assertLess(len(texts), 500_000)


if __name__ == "__main__":
    unittest.main()
