"""Views of rendered Kubernetes objects: pod templates, wherever they stand, and what their containers are told."""

import re


class Workload:
    """A pod template, and what it is a template of."""

    def __init__(self, owner, name, template, job=None, given_labels=None):
        self.owner = owner  # the object that creates the pods
        self.name = name  # for messages
        self.template = template
        self.job = job  # the spec of the Job, if the object is one
        self.given_labels = given_labels or {}  # labels that a controller adds

    @property
    def namespace(self):
        return self.owner["metadata"].get("namespace")

    @property
    def labels(self):
        return {**self.template.get("metadata", {}).get("labels", {}), **self.given_labels}

    @property
    def annotations(self):
        return self.template.get("metadata", {}).get("annotations", {})

    @property
    def pod(self):
        return self.template["spec"]

    @property
    def containers(self):
        return self.pod.get("initContainers", []) + self.pod["containers"]

    def container(self, program):
        """The container that runs the program, or None."""
        return next((c for c in self.containers if c.get("command", [""])[0] == program), None)


def name_of(item):
    return f"{item['kind']} {item['metadata']['name']}"


def workloads(objects):
    for item in objects:
        name, kind, spec = name_of(item), item["kind"], item.get("spec", {})
        if kind == "Job":
            yield Workload(item, name, spec["template"], spec)
        elif kind == "JobSet":
            for job in spec["replicatedJobs"]:
                job_spec = job["template"]["spec"]
                yield Workload(item, f"{name} ({job['name']})", job_spec["template"], job_spec)
        elif kind == "LeaderWorkerSet":
            group = spec["leaderWorkerTemplate"]
            for part, index in (("leaderTemplate", "0"), ("workerTemplate", "1")):
                given = {"leaderworkerset.sigs.k8s.io/worker-index": index}
                yield Workload(item, f"{name} ({part})", group[part], given_labels=given)


def for_schemas(objects):
    """The objects that kubernetes-validate has schemas for; of custom resources, the Jobs and pods in them."""
    for item in objects:
        if item["kind"] not in CUSTOM:
            yield item
    for workload in workloads(objects):
        if workload.owner["kind"] in CUSTOM:
            if workload.job:
                yield {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": workload.job}
            else:
                yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": workload.pod}


# Kinds of other projects, and the version of each that the manifests use.
CUSTOM = {
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "Certificate": "cert-manager.io/v1",
    "Issuer": "cert-manager.io/v1",
    "PodMonitor": "monitoring.coreos.com/v1",
}

# Variables that controllers put before a container's own.
GIVEN = {
    "Job": {"JOB_COMPLETION_INDEX": "0"},
    "JobSet": {"JOB_COMPLETION_INDEX": "0"},
    "LeaderWorkerSet": {"LWS_LEADER_ADDRESS": "muster-0.muster.ns", "LWS_GROUP_SIZE": "2", "LWS_WORKER_INDEX": "0"},
}

_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def references(text):
    return _REFERENCE.findall(text)


def expand(text, variables):
    return _REFERENCE.sub(lambda m: variables.get(m.group(1), m.group(0)), text)


def environment(workload, container):
    """The container's variables as kubelet resolves them; what comes from the pod's fields is in words."""
    variables = dict(GIVEN.get(workload.owner["kind"], {}))
    for entry in container.get("env", []):
        if "value" in entry:
            variables[entry["name"]] = expand(entry["value"], variables)
        elif entry["name"] not in variables:
            field = entry["valueFrom"].get("fieldRef", {}).get("fieldPath", "")
            variables[entry["name"]] = f"<{field}>"
    return variables


def command_line(workload, container):
    words = container.get("command", []) + container.get("args", [])
    variables = environment(workload, container)
    return [expand(word, variables) for word in words]


def flag(words, name):
    """The value of --name=value among the words before "--", or None."""
    for word in words:
        if word == "--":
            return None
        if word.startswith(f"--{name}="):
            return word.split("=", 1)[1]
    return None


def quantity(text):
    """A resource quantity as a number."""
    number, suffix = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", str(text)).groups()
    powers = {"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    return float(number) * powers[suffix]


def seconds(text):
    """A duration of one number and unit, as 30s or 10m."""
    number, unit = re.fullmatch(r"([0-9]+)(s|m|h)", text).groups()
    return int(number) * {"s": 1, "m": 60, "h": 3600}[unit]


def selects(selector, labels):
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())
