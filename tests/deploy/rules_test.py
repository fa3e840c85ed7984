"""Each rule of rules.py refuses what it is there for: manifests that are right but for one change."""

import copy
import unittest

import rendering

if rendering.tools_folder():
    rendering.use_tools()

import rules
from cases import run_tests


class Manifests:
    """A copy of rendered objects to be spoilt."""

    def __init__(self, overlay):
        self.objects = copy.deepcopy(rendering.rendered(overlay))

    def get(self, kind, name):
        return next(o for o in self.objects if o["kind"] == kind and o["metadata"]["name"] == name)

    def remove(self, kind, name):
        self.objects.remove(self.get(kind, name))

    @property
    def worker(self):
        return self.get("Job", "muster-worker")["spec"]

    @property
    def job_set_worker(self):
        jobs = self.get("JobSet", "muster")["spec"]["replicatedJobs"]
        return next(job for job in jobs if job["name"] == "worker")["template"]["spec"]

    @property
    def coordinator(self):
        return self.get("Job", "muster-coordinator")["spec"]

    @property
    def musterd(self):
        return self.coordinator["template"]["spec"]["containers"][0]

    @property
    def muster(self):
        return self.worker["template"]["spec"]["containers"][0]


def pod(job):
    return job["template"]["spec"]


def variable(container, name):
    return next(entry for entry in container["env"] if entry["name"] == name)


def volume(job, name):
    return next(entry for entry in pod(job)["volumes"] if entry["name"] == name)


def set_to(place, key, value):
    place[key] = value


def replace_argument(container, key, name, value):
    container[key] = [f"--{name}={value}" if word.startswith(f"--{name}=") else word for word in container[key]]


# For each rule: manifests that it must refuse, and the overlay that they change.
CASES = {
    "failure_policies_fit_their_pods": [
        ("OnFailure with a podFailurePolicy", "cpu-demo", lambda m: set_to(pod(m.worker), "restartPolicy", "OnFailure")),
        ("a replacement beside its pod", "cpu-demo",
         lambda m: set_to(m.worker, "podReplacementPolicy", "TerminatingOrFailed")),
        ("a container that is not there", "cpu-demo",
         lambda m: set_to(m.worker["podFailurePolicy"]["rules"][1]["onExitCodes"], "containerName", "main")),
        ("0 among the failures", "cpu-demo",
         lambda m: m.worker["podFailurePolicy"]["rules"][1]["onExitCodes"]["values"].append(0)),
        ("a rule of both kinds", "cpu-demo", lambda m: m.worker["podFailurePolicy"]["rules"][0].update(
            m.worker["podFailurePolicy"]["rules"][1])),
        ("a code twice", "cpu-demo",
         lambda m: set_to(m.worker["podFailurePolicy"]["rules"][1]["onExitCodes"], "values", [64, 64])),
    ],
    "disruptions_are_ignored_first": [
        ("the codes first", "cpu-demo", lambda m: m.worker["podFailurePolicy"]["rules"].reverse()),
        ("a condition without its status", "cpu-demo",
         lambda m: m.worker["podFailurePolicy"]["rules"][0]["onPodConditions"][0].pop("status")),
    ],
    "exit_codes_match_the_contract": [
        ("another code", "cpu-demo",
         lambda m: m.worker["podFailurePolicy"]["rules"][2]["onExitCodes"]["values"].append(77)),
    ],
    "only_healthy_containers_restart_in_place": [
        ("a guilty one too", "in-place-restart",
         lambda m: m.muster["restartPolicyRules"][0]["exitCodes"]["values"].append(77)),
        ("no policy beside the rules", "in-place-restart", lambda m: m.muster.pop("restartPolicy")),
    ],
    "coordinators_come_back": [
        ("Never", "cpu-demo", lambda m: set_to(pod(m.coordinator), "restartPolicy", "Never")),
        ("a podFailurePolicy", "cpu-demo", lambda m: set_to(m.coordinator, "podFailurePolicy", {"rules": []})),
        ("no replacement until its node is back", "cpu-demo",
         lambda m: set_to(m.coordinator, "podReplacementPolicy", "Failed")),
        ("two of them", "cpu-demo", lambda m: set_to(m.coordinator, "parallelism", 2)),
        ("Kubernetes' 300 s", "cpu-demo", lambda m: pod(m.coordinator)["tolerations"].pop()),
    ],
    "indexed_jobs_have_a_pod_for_each_index": [
        ("fewer pods at once", "cpu-demo", lambda m: set_to(m.worker, "parallelism", 1)),
        ("no index", "cpu-demo", lambda m: m.worker.pop("completionMode")),
    ],
    "indexes_back_off_on_their_own": [
        ("one limit for all pods", "cpu-demo", lambda m: set_to(m.worker, "backoffLimit", m.worker.pop(
            "backoffLimitPerIndex"))),
        ("both limits", "cpu-demo", lambda m: set_to(m.worker, "backoffLimit", 6)),
        ("failed indexes that do not matter", "cpu-demo", lambda m: m.worker.pop("maxFailedIndexes")),
        ("one failed index", "job-set", lambda m: set_to(m.job_set_worker, "maxFailedIndexes", 1)),
    ],
    "sizes_agree": [
        ("more pods", "cpu-demo", lambda m: m.worker.update(completions=3, parallelism=3)),
        ("another world", "cpu-demo", lambda m: set_to(variable(m.musterd, "WORLD_SIZE"), "value", "8")),
        ("too few GPUs", "two-gpu-nodes",
         lambda m: set_to(m.muster["resources"]["limits"], "nvidia.com/gpu", "4")),
    ],
    "probes_reach_the_daemon": [
        ("none", "cpu-demo", lambda m: m.musterd.pop("livenessProbe")),
        ("another port", "cpu-demo", lambda m: set_to(m.musterd["readinessProbe"]["grpc"], "port", 7371)),
        ("gRPC to a daemon with TLS", "mutual-tls",
         lambda m: set_to(m.musterd, "startupProbe", {"grpc": {"port": 7370}})),
        ("no question", "mutual-tls", lambda m: set_to(m.musterd["livenessProbe"]["exec"], "command", ["true"])),
        ("kubelet less patient", "mutual-tls", lambda m: m.musterd["livenessProbe"].pop("timeoutSeconds")),
    ],
    "ports_match": [
        ("no containerPort", "cpu-demo", lambda m: m.musterd.pop("ports")),
        ("another Service", "cpu-demo",
         lambda m: set_to(variable(m.muster, "COORDINATOR_SERVICE"), "value", "coordinator")),
        ("another port of it", "cpu-demo",
         lambda m: set_to(m.get("Service", "muster-coordinator")["spec"]["ports"][0], "port", 80)),
    ],
    "services_select_pods": [
        ("nobody", "cpu-demo",
         lambda m: m.get("Service", "muster-coordinator")["spec"]["selector"].update(app="other")),
        ("everybody", "cpu-demo",
         lambda m: m.get("Service", "muster-worker")["spec"]["selector"].pop("app.kubernetes.io/component")),
        ("nobody in its namespace", "cpu-demo",
         lambda m: set_to(m.get("Service", "muster-worker")["metadata"], "namespace", "other")),
        ("a port that is not there", "cpu-demo",
         lambda m: set_to(m.get("Service", "muster-coordinator")["spec"]["ports"][0], "targetPort", "http")),
    ],
    "host_names_are_published": [
        ("no Service", "cpu-demo", lambda m: m.remove("Service", "muster-worker")),
        ("a Service with an address", "cpu-demo",
         lambda m: m.get("Service", "muster-worker")["spec"].pop("clusterIP")),
        ("only the ready", "cpu-demo",
         lambda m: m.get("Service", "muster-worker")["spec"].pop("publishNotReadyAddresses")),
        ("others", "cpu-demo", lambda m: m.get("Service", "muster-worker")["spec"]["selector"].update(app="x")),
    ],
    "images_have_versions": [
        ("latest", "cpu-demo", lambda m: set_to(m.muster, "image", "registry:5000/muster-examples:latest")),
        ("none", "cpu-demo", lambda m: set_to(m.musterd, "image", "registry:5000/muster")),
    ],
    "resources_are_bounded": [
        ("no limit", "cpu-demo", lambda m: m.muster["resources"]["limits"].pop("memory")),
        ("no request", "cpu-demo", lambda m: m.musterd["resources"].pop("requests")),
        ("more than its limit", "cpu-demo", lambda m: set_to(m.muster["resources"]["requests"], "cpu", "3")),
        ("a side-car without", "leader-worker-set",
         lambda m: m.get("LeaderWorkerSet", "muster")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
         ["initContainers"][0].pop("resources")),
    ],
    "payloads_fit_into_memory": [
        ("musterd's own limit", "cpu-demo", lambda m: m.musterd["args"].remove("--max-held-bytes=512MiB")),
        ("less memory", "cpu-demo", lambda m: set_to(m.musterd["resources"]["limits"], "memory", "512Mi")),
    ],
    "scratch_is_bounded": [
        ("no size", "cpu-demo", lambda m: volume(m.worker, "tmp")["emptyDir"].pop("sizeLimit")),
        ("as large as the limit", "cpu-demo", lambda m: set_to(volume(m.worker, "shm")["emptyDir"], "sizeLimit", "1Gi")),
        ("/dev/shm on disk", "cpu-demo", lambda m: volume(m.worker, "shm")["emptyDir"].pop("medium")),
    ],
    "pods_are_restricted": [
        ("root", "cpu-demo", lambda m: pod(m.worker)["securityContext"].pop("runAsNonRoot")),
        ("uid 0", "cpu-demo", lambda m: set_to(m.muster["securityContext"], "runAsUser", 0)),
        ("no seccomp", "cpu-demo", lambda m: pod(m.coordinator)["securityContext"].pop("seccompProfile")),
        ("privileges", "cpu-demo", lambda m: m.muster["securityContext"].pop("allowPrivilegeEscalation")),
        ("a capability", "cpu-demo",
         lambda m: set_to(m.muster["securityContext"]["capabilities"], "add", ["IPC_LOCK"])),
        ("the node's network", "cpu-demo", lambda m: set_to(pod(m.worker), "hostNetwork", True)),
        ("the node's files", "cpu-demo", lambda m: set_to(pod(m.worker)["volumes"], 0, {
            "name": "shm", "hostPath": {"path": "/dev/shm"}})),
        ("writable", "cpu-demo", lambda m: m.musterd["securityContext"].pop("readOnlyRootFilesystem")),
        ("the API server's token", "cpu-demo", lambda m: pod(m.worker).pop("automountServiceAccountToken")),
        ("a namespace that allows all", "cpu-demo",
         lambda m: m.get("Namespace", "muster-demo")["metadata"].pop("labels")),
        ("a side-car as root", "leader-worker-set",
         lambda m: m.get("LeaderWorkerSet", "muster")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
         ["initContainers"][0]["securityContext"].update(runAsUser=0)),
    ],
    "volumes_are_there": [
        ("mounted alone", "cpu-demo", lambda m: pod(m.worker)["volumes"].pop(0)),
        ("declared alone", "cpu-demo", lambda m: m.muster["volumeMounts"].pop()),
        ("no Secret", "cpu-demo", lambda m: set_to(volume(m.worker, "token")["secret"], "secretName", "muster-token")),
        ("no certificate", "mutual-tls", lambda m: m.remove("Certificate", "muster-worker")),
    ],
    "named_files_are_mounted": [
        ("another key", "cpu-demo", lambda m: replace_argument(m.musterd, "args", "token-file", "/run/muster/token/key")),
        ("another folder", "mutual-tls",
         lambda m: set_to(variable(m.muster, "MUSTER_TLS_KEY"), "value", "/run/muster/key/tls.key")),
    ],
    "credentials_are_used": [
        ("no token", "cpu-demo", lambda m: m.musterd["args"].remove("--token-file=/run/muster/token/token")),
        ("insecure", "cpu-demo", lambda m: m.musterd["args"].append("--insecure")),
        ("workers without it", "cpu-demo",
         lambda m: m.muster["env"].remove(variable(m.muster, "MUSTER_TOKEN_FILE"))),
        ("workers without TLS", "mutual-tls", lambda m: m.muster["env"].remove(variable(m.muster, "MUSTER_TLS_CA"))),
    ],
    "certificates_fit_their_callers": [
        ("no issuer", "mutual-tls", lambda m: m.remove("Issuer", "muster-authority")),
        ("no authority", "mutual-tls", lambda m: m.get("Certificate", "muster-authority")["spec"].pop("isCA")),
        ("not a server's", "mutual-tls",
         lambda m: m.get("Certificate", "muster-coordinator")["spec"]["usages"].remove("server auth")),
        ("not a client's", "mutual-tls",
         lambda m: m.get("Certificate", "muster-worker")["spec"]["usages"].remove("client auth")),
        ("another name", "mutual-tls",
         lambda m: set_to(variable(m.muster, "MUSTER_TLS_SERVER_NAME"), "value", "muster-coordinator")),
        ("the worker's at the side-car", "leader-worker-set-tls",
         lambda m: set_to(m.get("LeaderWorkerSet", "muster")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
                          ["initContainers"][0]["volumeMounts"], 1, {"name": "tls", "mountPath": "/run/muster/tls"})),
    ],
    "variables_are_defined_before_use": [
        ("later", "cpu-demo", lambda m: m.muster["env"].reverse()),
        ("never", "cpu-demo", lambda m: m.muster["command"].append("--log-dir=$(LOGS)")),
        ("twice", "cpu-demo", lambda m: m.muster["env"].append({"name": "NODES", "value": "2"})),
        ("those of Services", "cpu-demo", lambda m: pod(m.worker).pop("enableServiceLinks")),
    ],
    "both_sides_name_the_same_run": [
        ("two names", "cpu-demo", lambda m: set_to(variable(m.muster, "MUSTER_JOB"), "value", "train")),
        ("always the same", "cpu-demo", lambda m: [set_to(variable(c, "MUSTER_JOB"), "value", "train")
                                                   for c in (m.muster, m.musterd)]),
    ],
    "node_ids_tell_pods_apart": [
        ("the machine alone", "cpu-demo",
         lambda m: set_to(variable(m.muster, "MUSTER_NODE_ID"), "value", "$(NODE_NAME)")),
        ("the pod alone", "cpu-demo", lambda m: set_to(variable(m.muster, "MUSTER_NODE_ID"), "value", "$(NODE_RANK)")),
    ],
    "pods_have_time_to_end": [
        ("workers", "cpu-demo", lambda m: set_to(pod(m.worker), "terminationGracePeriodSeconds", 30)),
        ("the coordinator", "cpu-demo", lambda m: set_to(pod(m.coordinator), "terminationGracePeriodSeconds", 5)),
    ],
    "policies_admit_needed_callers": [
        ("no policy", "cpu-demo", lambda m: m.remove("NetworkPolicy", "muster-coordinator")),
        ("everybody", "cpu-demo",
         lambda m: m.get("NetworkPolicy", "muster-coordinator")["spec"]["ingress"][0].pop("from")),
        ("other namespaces", "cpu-demo", lambda m: m.get("NetworkPolicy", "muster-coordinator")["spec"]["ingress"][0]
         ["from"].append({"namespaceSelector": {}})),
        ("another port", "cpu-demo", lambda m: set_to(
            m.get("NetworkPolicy", "muster-coordinator")["spec"]["ingress"][0]["ports"][0], "port", 80)),
        ("no tensors", "cpu-demo", lambda m: set_to(
            m.get("NetworkPolicy", "muster-worker")["spec"]["ingress"][0], "ports", [{"port": 7370}])),
        ("a leader's metrics, and all else", "leader-worker-set-metrics",
         lambda m: m.get("NetworkPolicy", "muster-metrics")["spec"]["ingress"][0].pop("ports")),
        ("workers of other jobs", "cpu-demo", lambda m: m.get("NetworkPolicy", "muster-worker")["spec"]["ingress"][0]
         ["from"][0]["podSelector"].pop("matchLabels")),
    ],
    "metrics_can_be_read": [
        ("another port", "metrics",
         lambda m: replace_argument(m.musterd, "args", "metrics-listen", "0.0.0.0:9101")),
        ("no containerPort", "metrics", lambda m: m.musterd["ports"].pop()),
        ("no annotation", "metrics",
         lambda m: m.coordinator["template"]["metadata"]["annotations"].pop("prometheus.io/scrape")),
        ("no policy", "metrics", lambda m: m.remove("NetworkPolicy", "muster-metrics")),
        ("everybody", "metrics",
         lambda m: m.get("NetworkPolicy", "muster-metrics")["spec"]["ingress"][0].pop("from")),
        ("every namespace", "metrics",
         lambda m: m.get("NetworkPolicy", "muster-metrics")["spec"]["ingress"][0]["from"][0]
         .update(namespaceSelector={})),
        ("a monitor of other pods", "metrics",
         lambda m: m.get("PodMonitor", "muster-coordinator")["spec"]["selector"]["matchLabels"].update(app="other")),
        ("a monitor of another port", "metrics",
         lambda m: set_to(m.get("PodMonitor", "muster-coordinator")["spec"]["podMetricsEndpoints"][0], "port", "grpc")),
        ("a job set's, another port", "job-set-metrics",
         lambda m: next(c for w, c in rules.coordinators(m.objects))["ports"].pop()),
        ("a side-car, no policy", "leader-worker-set-metrics",
         lambda m: m.get("NetworkPolicy", "muster-metrics")["spec"]["podSelector"]["matchLabels"]
         .update({"leaderworkerset.sigs.k8s.io/worker-index": "1"})),
        ("a side-car, no annotation", "leader-worker-set-metrics",
         lambda m: m.get("LeaderWorkerSet", "muster")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["metadata"]
         .pop("annotations")),
        ("a side-car, a monitor of other pods", "leader-worker-set-metrics",
         lambda m: m.get("PodMonitor", "muster-coordinator")["spec"]["selector"]["matchLabels"]
         .update({"app.kubernetes.io/component": "coordinator"})),
    ],
    "objects_are_of_known_kinds": [
        ("an old version", "cpu-demo", lambda m: set_to(m.get("Job", "muster-worker"), "apiVersion", "batch/v1beta1")),
        ("another kind", "cpu-demo", lambda m: set_to(m.get("Namespace", "muster-demo"), "kind", "Space")),
    ],
    "objects_are_in_one_namespace": [
        ("another", "cpu-demo",
         lambda m: set_to(m.get("NetworkPolicy", "muster-worker")["metadata"], "namespace", "default")),
        ("none", "job-set", lambda m: m.get("JobSet", "muster")["metadata"].pop("namespace")),
    ],
    "names_are_short_enough": [
        ("too long for a host name", "cpu-demo",
         lambda m: set_to(m.get("Job", "muster-worker")["metadata"], "name", "w" * 62)),
    ],
}


class RefusalTest(unittest.TestCase):
    def test_every_rule_has_a_case(self):
        self.assertEqual({rule.__name__ for rule in rules.RULES}, set(CASES))

    def test_each_case_is_rejected_by_its_rule(self):
        for rule in rules.RULES:
            for what, overlay, spoil in CASES[rule.__name__]:
                with self.subTest(rule=rule.__name__, what=what):
                    manifests = Manifests(overlay)
                    self.assertEqual(list(rule(manifests.objects)), [])
                    spoil(manifests)
                    self.assertNotEqual(list(rule(manifests.objects)), [])


if __name__ == "__main__":
    run_tests(rendering.tools_folder())
