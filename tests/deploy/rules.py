"""What must be true of the rendered manifests, though schemas let the contrary through.

Each rule takes all objects of a deployment and yields complaints. rules_test.py has, for each of them,
manifests that it must refuse.
"""

import re

from objects import (CUSTOM, command_line, environment, flag, name_of, quantity, references, seconds, selects,
                     workloads, GIVEN)

RULES = []


def rule(function):
    RULES.append(function)
    return function


def check(objects):
    """All complaints, each with its rule's name before it."""
    return [f"{r.__name__}: {complaint}" for r in RULES for complaint in r(objects)]


def of_kind(objects, kind):
    return [item for item in objects if item["kind"] == kind]


def containers(objects):
    for workload in workloads(objects):
        for container in workload.containers:
            yield workload, container, f"{workload.name}, container {container['name']}"


def coordinators(objects):
    return [(w, w.container("musterd")) for w in workloads(objects) if w.container("musterd")]


def workers(objects):
    return [(w, w.container("muster")) for w in workloads(objects) if w.container("muster")]


@rule
def failure_policies_fit_their_pods(objects):
    for w in workloads(objects):
        policy = (w.job or {}).get("podFailurePolicy")
        if not policy:
            continue
        if w.pod.get("restartPolicy") != "Never":
            yield f"{w.name}: podFailurePolicy needs restartPolicy Never, not {w.pod.get('restartPolicy')}"
        if w.job.get("podReplacementPolicy", "Failed") != "Failed":
            yield f"{w.name}: podFailurePolicy allows podReplacementPolicy Failed alone"
        for entry in policy["rules"]:
            codes = entry.get("onExitCodes")
            if bool(codes) == bool(entry.get("onPodConditions")):
                yield f"{w.name}: a rule has either onExitCodes or onPodConditions"
            if codes and codes.get("containerName") not in [None] + [c["name"] for c in w.containers]:
                yield f"{w.name}: no container {codes['containerName']}"
            if codes and codes["operator"] == "In" and 0 in codes["values"]:
                yield f"{w.name}: 0 is no failure"
            if codes and (len(codes["values"]) != len(set(codes["values"])) or max(codes["values"]) > 255):
                yield f"{w.name}: exit codes {codes['values']}"


@rule
def disruptions_are_ignored_first(objects):
    for w, _ in workers(objects):
        if w.job is None:
            continue
        first = w.job.get("podFailurePolicy", {}).get("rules", [{}])[0]
        conditions = [c["type"] for c in first.get("onPodConditions", []) if c.get("status") == "True"]
        if first.get("action") != "Ignore" or conditions != ["DisruptionTarget"]:
            yield f"{w.name}: the first rule of podFailurePolicy does not ignore DisruptionTarget"


@rule
def exit_codes_match_the_contract(objects):
    for w, _ in workers(objects):
        if w.job is None:
            continue
        actions = {code: entry["action"] for entry in w.job["podFailurePolicy"]["rules"]
                   for code in entry.get("onExitCodes", {}).get("values", [])}
        if actions != EXIT_CODES:
            yield f"{w.name}: {actions}, expected {EXIT_CODES}"


EXIT_CODES = {64: "FailJob", 75: "Ignore", 76: "Ignore"}  # docs/exit-codes.md


@rule
def only_healthy_containers_restart_in_place(objects):
    for w, c, name in containers(objects):
        rules = c.get("restartPolicyRules", [])
        if rules and not c.get("restartPolicy"):
            yield f"{name}: restartPolicyRules need a restartPolicy of the container"
        for entry in rules:
            if set(entry["exitCodes"]["values"]) - {75, 76}:
                yield f"{name}: starts again in its place after {entry['exitCodes']['values']}"


@rule
def coordinators_come_back(objects):
    for w, _ in coordinators(objects):
        if w.job is None:
            continue
        if w.pod.get("restartPolicy") != "OnFailure" or "podFailurePolicy" in w.job:
            yield f"{w.name}: a container that dies must start again in its pod"
        if w.job.get("podReplacementPolicy", "TerminatingOrFailed") != "TerminatingOrFailed":
            yield f"{w.name}: would not be replaced while its node does not answer"
        if w.job.get("completions", 1) != 1 or w.job.get("parallelism", 1) != 1:
            yield f"{w.name}: is not one pod"
        tolerated = {t.get("key"): t.get("tolerationSeconds") for t in w.pod.get("tolerations", [])
                     if t.get("effect") == "NoExecute"}
        for taint in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
            if tolerated.get(taint) != 10:
                yield f"{w.name}: tolerates {taint} for {tolerated.get(taint)} s, expected 10"


@rule
def indexed_jobs_have_a_pod_for_each_index(objects):
    for w in workloads(objects):
        if w.job and w.job.get("completionMode") == "Indexed":
            if not w.job.get("completions") or w.job.get("parallelism") != w.job["completions"]:
                yield f"{w.name}: parallelism {w.job.get('parallelism')}, completions {w.job.get('completions')}"
    for w, _ in workers(objects):
        if w.job and w.job.get("completionMode") != "Indexed":
            yield f"{w.name}: is not Indexed"


@rule
def indexes_back_off_on_their_own(objects):
    """The Job controller delays a replacement by 10 s x 2^failures, and counts the failures of all pods
    together, those that podFailurePolicy ignores too, unless the limit is one of each index."""
    for w, _ in workers(objects):
        if w.job is None:
            continue
        if "backoffLimitPerIndex" not in w.job or "backoffLimit" in w.job:
            yield f"{w.name}: give backoffLimitPerIndex, and no backoffLimit: pods that end together delay one another"
        elif w.job.get("maxFailedIndexes") != 0:
            yield f"{w.name}: without maxFailedIndexes: 0 the others go on waiting for an index that has failed for good"


@rule
def sizes_agree(objects):
    worlds = [environment(w, c).get("WORLD_SIZE") for w, c in coordinators(objects)]
    for w, c in workers(objects):
        variables = environment(w, c)
        nodes, processes = int(variables["NODES"]), int(variables["PROCESSES"])
        if w.job and w.job["completions"] != nodes:
            yield f"{w.name}: {w.job['completions']} pods, but NODES is {nodes}"
        if worlds != [str(nodes * processes)]:
            yield f"{w.name}: {nodes} x {processes} ranks, but the coordinator's WORLD_SIZE is {worlds}"
        gpus = c["resources"]["limits"].get("nvidia.com/gpu")
        if gpus and int(gpus) != processes:
            yield f"{w.name}: {gpus} GPUs for {processes} ranks"


@rule
def probes_reach_the_daemon(objects):
    for w, c in coordinators(objects):
        words = command_line(w, c)
        port = int(flag(words, "listen").rsplit(":", 1)[1])
        encrypted = flag(words, "tls-cert") is not None
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            probe = c.get(kind)
            if not probe:
                yield f"{w.name}: no {kind}"
            elif "grpc" in probe and encrypted:
                yield f"{w.name}: {kind}: kubelet's gRPC probe does not speak TLS"
            elif "grpc" in probe and probe["grpc"]["port"] != port:
                yield f"{w.name}: {kind} asks port {probe['grpc']['port']}, musterd listens at {port}"
            elif "grpc" not in probe:
                yield from _exec_probe(w, kind, probe, port)


def _exec_probe(w, kind, probe, port):
    words = probe.get("exec", {}).get("command", [])
    if words[:2] != ["muster", "health"] or flag(words, "coordinator") != f"localhost:{port}":
        yield f"{w.name}: {kind} does not ask musterd: {words}"
    elif seconds(flag(words, "timeout")) >= probe.get("timeoutSeconds", 1):
        yield f"{w.name}: {kind}: kubelet gives up before `muster health` can say why"


@rule
def ports_match(objects):
    for w, c in coordinators(objects):
        port = int(flag(command_line(w, c), "listen").rsplit(":", 1)[1])
        if port not in [p["containerPort"] for p in c.get("ports", [])]:
            yield f"{w.name}: musterd listens at {port}, which is no containerPort"
    for w, c in workers(objects):
        host, port = flag(command_line(w, c), "coordinator").rsplit(":", 1)
        services = {s["metadata"]["name"]: s for s in of_kind(objects, "Service")}
        if w.owner["kind"] == "LeaderWorkerSet":
            continue  # the leader's host name, which LeaderWorkerSet sets
        if host not in services:
            yield f"{w.name}: the coordinator is at {host}, which is no Service here"
        elif int(port) not in [p["port"] for p in services[host]["spec"].get("ports", [])]:
            yield f"{w.name}: {host} has no port {port}"


@rule
def services_select_pods(objects):
    for service in of_kind(objects, "Service"):
        selected = [w for w in workloads(objects)
                    if selects(service["spec"].get("selector"), w.labels) and
                    w.namespace == service["metadata"].get("namespace")]
        if not selected:
            yield f"{name_of(service)}: selects nothing"
        for port in service["spec"].get("ports", []):
            target = port.get("targetPort", port["port"])
            for w in selected:
                known = [value for c in w.containers for p in c.get("ports", [])
                         for value in (p.get("name"), p["containerPort"])]
                if target not in known:
                    yield f"{name_of(service)}: {w.name} has no port {target}"
        if len({bool(w.container("musterd")) for w in selected}) > 1:
            yield f"{name_of(service)}: selects coordinator and workers"


@rule
def host_names_are_published(objects):
    for w, _ in workers(objects):
        if w.owner["kind"] != "Job":
            continue  # JobSet and LeaderWorkerSet publish them
        name = w.pod.get("subdomain")
        service = next((s for s in of_kind(objects, "Service") if s["metadata"]["name"] == name), None)
        if not service or service["spec"].get("clusterIP") != "None":
            yield f"{w.name}: subdomain {name} is no headless Service here"
        elif not service["spec"].get("publishNotReadyAddresses"):
            yield f"{w.name}: the host names of {name} are not published before the pods are ready"
        elif not selects(service["spec"]["selector"], w.labels):
            yield f"{w.name}: its subdomain's Service does not select it"


@rule
def images_have_versions(objects):
    for _, c, name in containers(objects):
        image = c["image"].rsplit("/", 1)[-1]
        if "@sha256:" not in image and (":" not in image or image.endswith(":latest")):
            yield f"{name}: image {c['image']}"


@rule
def resources_are_bounded(objects):
    for w, c, name in containers(objects):
        resources = c.get("resources", {})
        for kind in ("cpu", "memory"):
            request, limit = (resources.get(side, {}).get(kind) for side in ("requests", "limits"))
            if request is None or limit is None:
                yield f"{name}: no request or no limit for {kind}"
            elif quantity(request) > quantity(limit):
                yield f"{name}: requests more {kind} than its limit"


@rule
def payloads_fit_into_memory(objects):
    for w, c in coordinators(objects):
        held = quantity((flag(command_line(w, c), "max-held-bytes") or "4GiB").removesuffix("B"))
        limit = quantity(c.get("resources", {}).get("limits", {}).get("memory", "0"))
        if held > limit / 2:
            yield f"{w.name}: musterd may hold {held:.0f} bytes, its memory limit is {limit:.0f}"


@rule
def scratch_is_bounded(objects):
    for w in workloads(objects):
        memory = sum(quantity(c.get("resources", {}).get("limits", {}).get("memory", "0")) for c in w.containers)
        for volume in w.pod.get("volumes", []):
            if "emptyDir" not in volume:
                continue
            size = volume["emptyDir"].get("sizeLimit")
            if size is None:
                yield f"{w.name}: volume {volume['name']} has no sizeLimit"
            elif volume["emptyDir"].get("medium") == "Memory" and quantity(size) >= memory:
                yield f"{w.name}: volume {volume['name']} counts against a memory limit that is no larger"
    for w, c in workers(objects):
        mounts = {m["mountPath"]: m["name"] for m in c.get("volumeMounts", [])}
        media = {v["name"]: v.get("emptyDir", {}).get("medium") for v in w.pod.get("volumes", [])}
        if media.get(mounts.get("/dev/shm")) != "Memory":
            yield f"{w.name}: /dev/shm is no volume in memory"


@rule
def pods_are_restricted(objects):
    """The Pod Security Standard "restricted", and a root file system that is read only."""
    for w in workloads(objects):
        pod = w.pod.get("securityContext", {})
        if w.pod.get("hostNetwork") or w.pod.get("hostPID") or w.pod.get("hostIPC"):
            yield f"{w.name}: shares a namespace of its node"
        if w.pod.get("automountServiceAccountToken") is not False:
            yield f"{w.name}: gets a token for the API server"
        allowed = {"emptyDir", "secret", "configMap", "projected", "downwardAPI", "persistentVolumeClaim", "csi",
                   "ephemeral"}
        for volume in w.pod.get("volumes", []):
            if not allowed & volume.keys():
                yield f"{w.name}: volume {volume['name']} is of a kind that is not allowed"
    for w, c, name in containers(objects):
        context = {**w.pod.get("securityContext", {}), **c.get("securityContext", {})}
        if context.get("runAsNonRoot") is not True or context.get("runAsUser") == 0:
            yield f"{name}: may run as root"
        if context.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
            yield f"{name}: no seccompProfile"
        if context.get("allowPrivilegeEscalation") is not False or context.get("privileged"):
            yield f"{name}: may get privileges"
        capabilities = context.get("capabilities", {})
        if capabilities.get("drop") != ["ALL"] or capabilities.get("add"):
            yield f"{name}: has capabilities"
        if context.get("readOnlyRootFilesystem") is not True:
            yield f"{name}: may write to its image"
    for namespace in of_kind(objects, "Namespace"):
        if namespace["metadata"].get("labels", {}).get("pod-security.kubernetes.io/enforce") != "restricted":
            yield f"{name_of(namespace)}: does not enforce it"


@rule
def volumes_are_there(objects):
    secrets = {s["metadata"]["name"] for s in of_kind(objects, "Secret")}
    secrets |= {c["spec"]["secretName"] for c in of_kind(objects, "Certificate")}
    for w in workloads(objects):
        volumes = {v["name"] for v in w.pod.get("volumes", [])}
        mounted = {m["name"] for c in w.containers for m in c.get("volumeMounts", [])}
        for name in sorted(volumes ^ mounted):
            yield f"{w.name}: volume {name} is only {'mounted' if name in mounted else 'declared'}"
        for volume in w.pod.get("volumes", []):
            if "secret" in volume and volume["secret"]["secretName"] not in secrets:
                yield f"{w.name}: nothing makes the Secret {volume['secret']['secretName']}"


@rule
def named_files_are_mounted(objects):
    """What flags and variables name below /run/muster lies in a volume of that container, with that key."""
    keys = {s["metadata"]["name"]: set(s.get("data", {})) for s in of_kind(objects, "Secret")}
    for certificate in of_kind(objects, "Certificate"):
        keys[certificate["spec"]["secretName"]] = {"tls.crt", "tls.key", "ca.crt"}
    for w, c, name in containers(objects):
        secrets = {v["name"]: v["secret"]["secretName"] for v in w.pod.get("volumes", []) if "secret" in v}
        at = {m["mountPath"]: keys.get(secrets.get(m["name"]), set()) for m in c.get("volumeMounts", [])}
        values = list(environment(w, c).values()) + [word.split("=")[-1] for word in command_line(w, c)]
        for path in sorted({value for value in values if value.startswith("/run/muster/")}):
            folder, key = path.rsplit("/", 1)
            if key not in at.get(folder, set()):
                yield f"{name}: nothing brings {path}"


@rule
def credentials_are_used(objects):
    for w, c in coordinators(objects):
        words = command_line(w, c)
        if flag(words, "token-file") is None:
            yield f"{w.name}: musterd asks for no token"
        if "--insecure" in words:
            yield f"{w.name}: --insecure"
    for w, c in coordinators(objects) + workers(objects):
        if not environment(w, c).get("MUSTER_TOKEN_FILE"):
            yield f"{w.name}: MUSTER_TOKEN_FILE is not set"
    encrypted = [flag(command_line(w, c), "tls-cert") is not None for w, c in coordinators(objects)]
    for w, c in workers(objects):
        if bool(environment(w, c).get("MUSTER_TLS_CA")) != all(encrypted):
            yield f"{w.name}: TLS at one end only"


@rule
def certificates_fit_their_callers(objects):
    issuers = {i["metadata"]["name"] for i in of_kind(objects, "Issuer")}
    made = {c["spec"]["secretName"]: c["spec"] for c in of_kind(objects, "Certificate")}
    for certificate in of_kind(objects, "Certificate"):
        if certificate["spec"]["issuerRef"]["name"] not in issuers:
            yield f"{name_of(certificate)}: no Issuer {certificate['spec']['issuerRef']['name']}"
    for issuer in of_kind(objects, "Issuer"):
        if "ca" in issuer["spec"] and not made.get(issuer["spec"]["ca"]["secretName"], {}).get("isCA"):
            yield f"{name_of(issuer)}: its Secret is no authority's"
    for role, found in (("server auth", coordinators(objects)), ("client auth", workers(objects))):
        for w, c in found:
            secret = _secret_at(w, c, "/run/muster/tls")
            if secret is None:
                continue
            spec = made.get(secret, {})
            if role not in spec.get("usages", []):
                yield f"{w.name}: its certificate is not for {role}"
            if role == "server auth":
                names = {environment(v, d).get("MUSTER_TLS_SERVER_NAME") for v, d in found + workers(objects)}
                if names != set(spec.get("dnsNames", [])):
                    yield f"{w.name}: clients expect {names}, its certificate is for {spec.get('dnsNames')}"


def _secret_at(w, c, path):
    mounted = {m["mountPath"]: m["name"] for m in c.get("volumeMounts", [])}
    return next((v["secret"]["secretName"] for v in w.pod.get("volumes", [])
                 if "secret" in v and v["name"] == mounted.get(path)), None)


@rule
def variables_are_defined_before_use(objects):
    """kubelet leaves $(NAME) as it stands where NAME is defined further down."""
    for w, c, name in containers(objects):
        known = set(GIVEN.get(w.owner["kind"], {}))
        for entry in c.get("env", []):
            for reference in references(entry.get("value", "")):
                if reference not in known:
                    yield f"{name}: {entry['name']} uses $({reference}), which is not known there"
            if entry["name"] in known and entry["name"] not in GIVEN.get(w.owner["kind"], {}):
                yield f"{name}: {entry['name']} stands there twice"
            known.add(entry["name"])
        for word in c.get("command", []) + c.get("args", []):
            for reference in references(word):
                if reference not in known:
                    yield f"{name}: {word} uses $({reference}), which is not known"
        if w.pod.get("enableServiceLinks") is not False:
            yield f"{name}: Services would set variables that begin with MUSTER_"


@rule
def both_sides_name_the_same_run(objects):
    names = {environment(w, c).get("MUSTER_JOB") for w, c in coordinators(objects) + workers(objects)}
    if len(names) != 1 or names == {None}:
        yield f"MUSTER_JOB is {sorted(map(str, names))}"
    for name in names:
        generated = any(s["metadata"]["name"] in str(name) for s in of_kind(objects, "Secret"))
        if not generated and "-uid']" not in str(name):
            yield f"MUSTER_JOB is {name}, the same in the next run"


@rule
def node_ids_tell_pods_apart(objects):
    for w, c in workers(objects):
        node = environment(w, c).get("MUSTER_NODE_ID", "")
        index = environment(w, c).get("NODE_RANK", "")
        if "<spec.nodeName>" not in node or not index or index not in node:
            yield f"{w.name}: MUSTER_NODE_ID is '{node}', the same for two pods of one machine"


@rule
def pods_have_time_to_end(objects):
    for w, c in workers(objects):
        grace = flag(command_line(w, c), "grace") or "10s"
        if w.pod.get("terminationGracePeriodSeconds", 30) <= seconds(grace):
            yield f"{w.name}: kubelet kills before `muster run` does after --grace={grace}"
    for w, c in coordinators(objects):
        drain = flag(command_line(w, c), "drain-time") or "10s"
        if w.pod.get("terminationGracePeriodSeconds", 30) <= seconds(drain):
            yield f"{w.name}: kubelet kills before musterd has drained"


@rule
def policies_admit_needed_callers(objects):
    policies = of_kind(objects, "NetworkPolicy")
    for w, c in coordinators(objects):
        if w.owner["kind"] == "LeaderWorkerSet":
            continue  # in a worker's pod
        port = int(flag(command_line(w, c), "listen").rsplit(":", 1)[1])
        opened = [(peers, ports) for peers, ports in _ingress(policies, w)]
        if not opened:
            yield f"{w.name}: no NetworkPolicy selects it"
        for peers, ports in opened:
            if ports == [metrics_port(w, c)]:
                continue  # see metrics_can_be_read
            if ports != [port]:
                yield f"{w.name}: ports {ports} are open, expected {port}"
            if not _exactly(peers, [x for x, _ in workers(objects)], objects):
                yield f"{w.name}: open to others than the workers"
    for w, _ in workers(objects):
        beside = {metrics_port(x, c) for x, c in coordinators(objects) if x.name == w.name}   # see metrics_can_be_read
        opened = [(peers, ports) for peers, ports in _ingress(policies, w) if not beside & set(ports)]
        if not opened:
            yield f"{w.name}: no NetworkPolicy selects it"
        for peers, ports in opened:
            if ports or not _exactly(peers, [x for x, _ in workers(objects)], objects):
                yield f"{w.name}: not open, at every port, to the workers alone"


def metrics_port(w, c):
    """Of a coordinator that serves metrics to others; None of one that does not."""
    address = flag(command_line(w, c), "metrics-listen")
    return int(address.rsplit(":", 1)[1]) if address else None


@rule
def metrics_can_be_read(objects):
    for w, c in coordinators(objects):
        port = metrics_port(w, c)
        if port is None:
            continue
        named = {p["containerPort"]: p.get("name") for p in c.get("ports", [])}
        if port not in named:
            yield f"{w.name}: metrics are at {port}, which is no containerPort"
        told = {key.split("/")[1]: value for key, value in w.annotations.items() if key.startswith("prometheus.io/")}
        if told != {"scrape": "true", "port": str(port), "path": "/metrics"}:
            yield f"{w.name}: Prometheus is told {told}"
        opened = [peers for peers, ports in _ingress(of_kind(objects, "NetworkPolicy"), w) if ports == [port]]
        if not opened:
            yield f"{w.name}: no NetworkPolicy opens port {port}"
        for peer in (peer for peers in opened for peer in peers or [{}]):
            if not peer.get("namespaceSelector", {}).get("matchLabels"):
                yield f"{w.name}: metrics are open to more than the namespaces that are named"
        for monitor in of_kind(objects, "PodMonitor"):
            if not selects(monitor["spec"]["selector"]["matchLabels"], w.labels):
                yield f"{name_of(monitor)}: does not select {w.name}"
            if [e["port"] for e in monitor["spec"]["podMetricsEndpoints"]] != [named.get(port)]:
                yield f"{name_of(monitor)}: asks another port than {port}"


def _ingress(policies, w):
    return [(entry.get("from", []), [p["port"] for p in entry.get("ports", [])])
            for policy in policies if selects(policy["spec"]["podSelector"].get("matchLabels"), w.labels)
            for entry in policy["spec"].get("ingress", [])]


def _exactly(peers, expected, objects):
    selectors = [p["podSelector"].get("matchLabels") for p in peers
                 if set(p) == {"podSelector"}]
    chosen = [w.name for w in workloads(objects) if any(selects(s, w.labels) for s in selectors)]
    return len(selectors) == len(peers) and chosen == [w.name for w in expected]


@rule
def objects_are_of_known_kinds(objects):
    known = {"Namespace": "v1", "Secret": "v1", "Service": "v1", "Job": "batch/v1",
             "NetworkPolicy": "networking.k8s.io/v1", **CUSTOM}
    for item in objects:
        if known.get(item["kind"]) != item["apiVersion"]:
            yield f"{name_of(item)}: {item['apiVersion']}"


@rule
def objects_are_in_one_namespace(objects):
    spaces = {item["metadata"].get("namespace") for item in objects if item["kind"] != "Namespace"}
    if len(spaces) != 1 or None in spaces:
        yield f"namespaces {sorted(map(str, spaces))}"


@rule
def names_are_short_enough(objects):
    for w in workloads(objects):
        name = w.owner["metadata"]["name"]
        longest = f"{name}-{(w.job or {}).get('completions', 1) - 1}"
        if len(longest) > 63 or not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", longest):
            yield f"{w.name}: '{longest}' is no host name"
