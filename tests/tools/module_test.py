"""MODULE.bazel and WORKSPACE give Muster the same repositories, and the version is the SDK's.

Bazel 4, which runs this, cannot read MODULE.bazel. Both files, and what they load, are Python enough to be
run as such, with stand-ins for Bazel's functions.
"""

import re
import types
import unittest
from unittest import mock


class Recorder:
    """Runs files of Bazel's language, and notes what they declare."""

    def __init__(self):
        self.repositories = []   # (rule, name) in the order of their declaration
        self.used = {}           # extension's name: repositories that MODULE.bazel takes from it
        self.module = {}
        self.loaded = {}

    def _repository_rule(self, implementation=None, **_):
        def declare(name, **_):
            self.repositories.append((implementation.__name__, name))
        return declare

    def _globals(self, package):
        def load(label, *names):
            path = label.replace("//bazel:", "bazel/") if "//" in label else package + label.lstrip(":")
            for name in names:
                scope[name] = self.run(path)[name]

        scope = {
            "load": load,
            "attr": mock.MagicMock(),
            "config": mock.MagicMock(),
            "rule": mock.MagicMock(),
            "select": mock.MagicMock(),
            "repository_rule": self._repository_rule,
            "module_extension": lambda implementation, doc: implementation,
            "native": types.SimpleNamespace(
                existing_rule=lambda name: None,
                local_repository=lambda name, path: self.repositories.append(("local", name))),
            "Label": lambda label: label,
            "workspace": lambda name: self.module.setdefault("workspace", name),
            "module": lambda **values: self.module.update(values),
            "use_extension": self._use_extension,
            "use_repo": lambda extension, *names: self.used.setdefault(extension, []).extend(names),
        }
        return scope

    def _use_extension(self, label, name, dev_dependency=False):
        self.run(label.replace("//bazel:", "bazel/"))[name](None)
        return name

    def run(self, path):
        if path not in self.loaded:
            scope = self._globals("bazel/" if path.startswith("bazel/") else "")
            with open(path, encoding="utf-8") as file:
                exec(compile(file.read(), path, "exec"), scope)  # pylint: disable=exec-used
            self.loaded[path] = scope
        return self.loaded[path]


class ModuleTest(unittest.TestCase):

    def setUp(self):
        self.module = Recorder()
        self.module.run("MODULE.bazel")
        self.workspace = Recorder()
        self.workspace.run("WORKSPACE")

    def test_module_and_workspace_declare_the_same_repositories(self):
        offline = Recorder()
        offline.run("bazel/offline.bzl")["offline_repositories"]()
        self.assertEqual(
            sorted(set(self.workspace.repositories) - set(offline.repositories)),
            sorted(self.module.repositories))
        self.assertIn(("_cuda_repository_impl", "cuda"), self.module.repositories)

    def test_the_module_uses_what_its_extensions_declare(self):
        self.assertEqual(
            sorted(name for names in self.module.used.values() for name in names),
            sorted(name for _, name in self.module.repositories))

    def test_other_workspaces_get_only_what_the_sdk_needs(self):
        user = Recorder()
        user.run("bazel/workspace.bzl")["muster_repositories"]()
        self.assertEqual(
            sorted(self.module.used["machine"]),
            sorted(name for _, name in user.repositories))

    def test_has_the_name_and_version_of_the_sdk(self):
        with open("client/include/muster/version.h", encoding="utf-8") as file:
            version = re.search(r'#define MUSTER_VERSION "(.*)"', file.read()).group(1)
        self.assertEqual(("muster", version), (self.module.module["name"], self.module.module["version"]))
        self.assertEqual("muster", self.workspace.module["workspace"])


if __name__ == "__main__":
    unittest.main()
