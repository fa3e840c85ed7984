"""README.md is what it says: its program is examples/hello, its transcript is tools/killed-rank's, and each of its
commands is run here as it is written, in a copy of the tree in which what it needs is built.

Stand-ins are in the place of what cannot run inside a test:
  bazel    knows the programs that were built for this test by their labels, and fails for any other. For what is
           packed (tools/wheel, tools/dist, tools/deb) it "builds" small programs and libraries: tools/test-dist
           packs Muster itself
  pip      installs in an environment of its own, from no index
  apt      reads the packages, and installs nothing
  podman   "builds" the images of deploy/Dockerfile, and runs their command without a container;
           tools/test-deploy runs containers
  kubectl  renders by the real one, and checks against Kubernetes' schemas instead of asking a cluster
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

RUNFILES = pathlib.Path.cwd()
README = pathlib.Path("README.md").read_text(encoding="utf-8")
PROGRAMS = {  # built by bazel: by label
    "//server:musterd": "server/musterd",
    "//client/cli:muster": "client/cli/muster",
    "//examples/hello": "examples/hello/hello",
    "//examples/digits": "examples/digits/digits",
}
PACKED = {  # small C files stand in for these: by label
    "//client/shared:libmuster": "client/shared/libmuster.so",
    "//client/shared:libmuster_portable": "client/shared/portable/libmuster.so",
    "//client/shared:muster": "client/shared/muster.o",
    "//client/nccl/profiler:libnccl-profiler-muster.so": "client/nccl/profiler/libnccl-profiler-muster.so",
    "//client/launcher/pmix:libmuster_pmix.so": "client/launcher/pmix/libmuster_pmix.so",
}
# Folders that commands and programs read from the tree. A program that is built by label has its
# data beside it. A program that is only the data of a test may lack its data, since Bazel creates
# the runfiles of that program only when it builds it.
COPIED = ["LICENSE", "tools", "deploy", "docs", "client/include", "client/python", "examples/digits/data"]
KUBERNETES_TOOLS = pathlib.Path(os.environ["TEST_SRCDIR"]) / "kubernetes_tools" / "installed"

BAZEL = """#!/usr/bin/python3
import os, sys
programs = {programs!r}
packed = {packed!r}
if sys.argv[1] != "build":
    sys.exit("bazel: this stand-in builds and does nothing else")
labels = [argument for argument in sys.argv[2:] if argument != "--config=static"]
for label in labels:
    if label not in programs and label not in packed:
        sys.exit(f"bazel: no such target '{{label}}'; {runfiles}/BUILD says what there is")
if os.path.islink("bazel-bin"):
    os.remove("bazel-bin")
os.symlink({small!r} if packed & set(labels) else {runfiles!r}, "bazel-bin")
"""

PIP = """#!/bin/bash
[[ -e {folder}/venv ]] || /usr/bin/python3 -m venv {folder}/venv
exec {folder}/venv/bin/pip --no-input --disable-pip-version-check "$1" --no-index "${{@:2}}"
"""

APT = """#!/usr/bin/python3
import subprocess, sys
if sys.argv[1] != "install" or not all(file.startswith("./") for file in sys.argv[2:]):
    sys.exit(f"apt: {{sys.argv[1:]}} installs no files")
for file in sys.argv[2:]:
    subprocess.run(["dpkg-deb", "--show", file], check=True)
"""

PODMAN = """#!/usr/bin/python3
import json, os, re, subprocess, sys
arguments = sys.argv[1:]
images = {folder!r} + "/images"
if arguments[0] == "build":
    target = arguments[arguments.index("--target") + 1]
    stages = re.split(r"^FROM .* AS (.*)$", open("deploy/Dockerfile").read(), flags=re.MULTILINE)
    stage = dict(zip(stages[1::2], stages[2::2]))[target]
    command = re.findall(r"^CMD (.*)$", stage, re.MULTILINE)[-1]
    with open(images, "a") as file:
        file.write(arguments[arguments.index("--tag") + 1] + "\\t" + command + "\\n")
elif arguments[0] == "run":
    built = dict(line.rstrip("\\n").split("\\t") for line in open(images))
    if arguments[1] != "--rm" or arguments[2] not in built:
        sys.exit(f"podman: {{arguments}} is not one of {{sorted(built)}}")
    sys.exit(subprocess.call(json.loads(built[arguments[2]])))
"""

KUBECTL = """#!/usr/bin/python3
import subprocess, sys
if sys.argv[1:] != ["apply", "-k", "."]:
    sys.exit(f"kubectl: cannot make sense of {{sys.argv[1:]}}")
sys.path.insert(0, {tools!r} + "/python")
import kubernetes_validate, yaml
output = subprocess.run([{tools!r} + "/bin/kubectl", "kustomize", "."], check=True, stdout=subprocess.PIPE).stdout
objects = list(yaml.safe_load_all(output))
for item in objects:
    kubernetes_validate.validate(item, kubernetes_validate.latest_version(), strict=True)
    print(item["kind"], item["metadata"]["name"], "is as Kubernetes wants it")
"""

# Commands that would change this machine. Other tests run them, with a --prefix.
ELSEWHERE = {"tools/install": "tests/install/install_test.sh"}

# Commands whose output is checked, besides their status.
EXPECTED = {
    "tools/quickstart": "== Done: loss=",
    "tools/wheel && pip install": "Successfully installed muster-",
    "tools/dist && tar": "dist: made, for glibc 2.34",
    "tools/deb && apt install": "libmuster-dev\t",
    "bazel-bin/client/cli/muster run": "rank 3 of 4 on node rank 0: average 1.5",
    "tools/killed-rank": "signal 9 (SIGKILL)",
    "tools/image": "held-out accuracy",
    "cd deploy/kubernetes": "Job muster-coordinator is as Kubernetes wants it",
}


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def commands():
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    stripped = [re.sub(r"(^|\s+)#.*", "", line) for line in lines]
    return [line for line in stripped if line]


def after(marker):
    return re.search(rf"^<!-- {re.escape(marker)} -->\n```\w*\n(.*?)^```$", README, re.MULTILINE | re.DOTALL).group(1)


def shape(transcript):
    """A transcript without what differs from run to run: numbers, the spaces that go with their length, and the table
    of ranks that were often late, who may be none."""
    text = re.sub(r"^\nlate ranks\n([^$\n].*\n)+", "", transcript, flags=re.MULTILINE)
    text = re.sub(r"host [^,]+,", "host HOST,", text)
    text = re.sub(r"\d[\d.:]*(Z|[mun]?s)?(?![\w'-])", "N", re.sub(r"'step \d+'", "'step N'", text))
    return re.sub(r"\d+m\d+s|(\d+h)?N", "N", re.sub(r"\s+", " ", text)).strip()


class Tree:
    """A copy of what the commands need, with the stand-ins in front of PATH."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder) / "muster"
        self.bin = pathlib.Path(folder) / "bin"
        self.bin.mkdir()
        self.home = pathlib.Path(folder) / "home"
        self.home.mkdir()
        for name in COPIED:
            if (RUNFILES / name).is_dir():
                shutil.copytree(RUNFILES / name, self.root / name, copy_function=shutil.copy)
            else:
                self.root.mkdir(exist_ok=True)
                shutil.copy(RUNFILES / name, self.root / name)
        small = pathlib.Path(folder) / "small"
        self._compile_small(small)
        self._command("bazel", BAZEL.format(programs=PROGRAMS, packed=set(PACKED), runfiles=str(RUNFILES), small=str(small)))
        self._command("pip", PIP.format(folder=folder))
        self._command("apt", APT.format())
        self._command("podman", PODMAN.format(folder=str(folder)))
        self._command("kubectl", KUBECTL.format(tools=str(KUBERNETES_TOOLS.resolve().parent)))
        for path in PROGRAMS.values():
            (self.bin / pathlib.Path(path).name).symlink_to((RUNFILES / path).resolve())
        self._write_tools()

    def _write_tools(self):
        """Stand-ins for what tests/tools and tests/install test, and what would change this machine."""
        for name in ("install-pic-objects", "install-cuda"):
            self._write(self.root / "tools" / name, "#!/bin/sh\n")
        self._write(self.root / "tools" / "man-pages", '#!/bin/sh\nmkdir -p "$4/man1" && echo page > "$4/man1/muster.1.gz"\n')
        # The content of an image is built with its own options.
        self._write(self.root / "tools" / "image-content", '#!/bin/sh\nmkdir -p "$1/muster"\n')

    def _compile_small(self, folder):
        """Compiles what stands in for Muster in packages."""
        for path in [*PACKED.values(), PROGRAMS["//server:musterd"], PROGRAMS["//client/cli:muster"]]:
            kind = {".so": ["-shared", "-fPIC", "-Wl,-soname,libmuster.so.0"], ".o": ["-c", "-fPIC"]}.get(
                pathlib.Path(path).suffix, [])
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["gcc", "-x", "c", "-", "-o", folder / path, *kind], check=True, text=True,
                           input="int main(void) { return 0; }")

    def _write(self, path, text):
        path.unlink(missing_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def _command(self, name, text):
        self._write(self.bin / name, text)

    def run(self, command):
        environment = dict(os.environ, PATH=f"{self.bin}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL="C.UTF-8",
                           HOME=str(self.home))
        environment.pop("MUSTER_COORDINATOR", None)
        return subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.root, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=240)


class ReadmeTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tree = Tree(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_is_short(self):
        self.assertLessEqual(len(README.splitlines()), 150)

    def test_shows_the_program_word_for_word(self):
        self.assertEqual(after("hello.cc"), pathlib.Path("examples/hello/hello.cc").read_text(encoding="utf-8"))

    def test_program_runs_in_serial_mode(self):
        run = subprocess.run(["examples/hello/hello"], stdout=subprocess.PIPE, text=True, check=True,
                             env={k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")})
        self.assertEqual(run.stdout, "rank 0 of 1 on node rank 0: average 0\n")

    def test_every_command_works_as_written(self):
        found = commands()
        for begin in EXPECTED:
            self.assertTrue(any(c.startswith(begin) for c in found), f"README.md has no command '{begin} ...'")
        for command in found:
            with self.subTest(command=command):
                if "kubectl" in command and not KUBERNETES_TOOLS.exists():
                    self.skipTest("tools/install-deps --kubernetes brings kubectl")
                if command in ELSEWHERE:
                    test = pathlib.Path("README.md").resolve().parent / ELSEWHERE[command]
                    self.assertIn(f"\n{command} --prefix ", test.read_text(encoding="utf-8"))
                    continue
                run = self.tree.run(command)
                self.assertEqual(run.returncode, 0, run.stdout)
                for begin, words in EXPECTED.items():
                    if command.startswith(begin):
                        self.assertIn(words, run.stdout)

    def test_shows_the_transcript_of_the_command(self):
        self.tree.run("bazel build //server:musterd")
        run = self.tree.run("tools/killed-rank")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(shape(after("tools/killed-rank")), shape(run.stdout))

    def test_named_benchmarks_exist(self):
        build = pathlib.Path("tests/bench/BUILD.bazel").read_text(encoding="utf-8")
        named = re.findall(r"`bazel run //tests/bench:(\w+)`", README)
        self.assertGreater(len(named), 0)
        for name in named:
            self.assertIn(f'"{name}"', build)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
