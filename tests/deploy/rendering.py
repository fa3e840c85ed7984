"""Renders deploy/kubernetes as `kubectl apply -k` would, with a token."""

import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path("deploy/kubernetes")


def tools_folder():
    """Where tools/install-deps --kubernetes has put kubectl and kubernetes-validate; None if it has not."""
    installed = pathlib.Path(os.environ["TEST_SRCDIR"]) / "kubernetes_tools" / "installed"
    return installed.resolve().parent if installed.exists() else None


def use_tools():
    sys.path.insert(0, str(tools_folder() / "python"))


# Variants that are tested in addition to the overlays in the tree: components on top of an overlay.
VARIANTS = {
    "mutual-tls": ("cpu-demo", ["mutual-tls"], {}),
    "topology": ("cpu-demo", ["topology"], {}),
    "metrics": ("cpu-demo", ["metrics", "metrics/pod-monitor"], {}),
    "in-place-restart": ("cpu-demo", ["in-place-restart"], {}),
    "everything": ("two-gpu-nodes", ["rdma", "mutual-tls", "metrics", "topology", "in-place-restart"], {}),
    "second-run": ("cpu-demo", ["mutual-tls"], {"nameSuffix": '"-2"'}),
    "job-set": ("cpu-demo", ["job-set"], {}),
    "job-set-metrics": ("cpu-demo", ["metrics", "job-set"], {}),
    "job-set-tls": ("cpu-demo", ["mutual-tls", "job-set"], {}),
    "leader-worker-set": ("cpu-demo", ["leader-worker-set"], {}),
    "leader-worker-set-metrics": ("cpu-demo", ["metrics", "metrics/pod-monitor", "leader-worker-set",
                                               "leader-worker-set/metrics"], {}),
    "leader-worker-set-tls": ("cpu-demo", ["mutual-tls", "leader-worker-set", "leader-worker-set/mutual-tls"], {}),
}
OVERLAYS = sorted(path.name for path in (SOURCE / "overlays").iterdir())
ALL = OVERLAYS + sorted(VARIANTS)


class Tree:
    """A copy of deploy/kubernetes in which the variants stand as overlays."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self._folder.name) / "kubernetes"
        shutil.copytree(SOURCE.resolve(), self.root, copy_function=shutil.copyfile)
        for name, (base, components, more) in VARIANTS.items():
            self._add(name, base, components, more)

    def _add(self, name, base, components, more):
        overlay = self.root / "overlays" / name
        overlay.mkdir()
        namespace = {"cpu-demo": "muster-demo", "two-gpu-nodes": "training"}[base]
        lines = [f"namespace: {namespace}", f"resources: [../{base}]", "components:"]
        lines += [f"  - ../../components/{component}" for component in components]
        lines += [f"{key}: {value}" for key, value in more.items()]
        (overlay / "kustomization.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def set_token(self, token):
        for overlay in OVERLAYS:
            (self.root / "overlays" / overlay / "token").write_text(token, encoding="utf-8")

    def kustomize(self, overlay):
        """(status, output) of kubectl kustomize."""
        kubectl = tools_folder() / "bin" / "kubectl"
        run = subprocess.run([kubectl, "kustomize", self.root / "overlays" / overlay], stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False)
        return run.returncode, run.stdout


@functools.lru_cache(maxsize=None)
def rendered(overlay, token="0123456789abcdef0123456789abcdef"):
    """The objects of an overlay or variant. Callers must not change them."""
    import yaml
    tree = Tree()
    tree.set_token(token)
    status, output = tree.kustomize(overlay)
    if status != 0:
        raise AssertionError(f"{overlay} cannot be rendered: {output}")
    return list(yaml.safe_load_all(output))
