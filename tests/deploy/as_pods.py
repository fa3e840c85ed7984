"""Turns rendered manifests into pods that `podman kube play` runs: what Kubernetes' controllers would make.

  as_pods.py MANIFESTS ADDRESS TOKEN_FOLDER OUTPUT

A pod for each index of a Job, with its index; variables and words resolved as kubelet does; the coordinator's
Service as a line in /etc/hosts that leads to ADDRESS; the token's Secret as TOKEN_FOLDER. Writes
OUTPUT/NAME.yaml for each pod. What podman does not know, probes by gRPC for one, is left out.
"""

import pathlib
import sys

import yaml

import objects


def resolved(workload, container, index, node):
    variables = objects.environment(workload, container)
    own = {"<metadata.annotations['batch.kubernetes.io/job-completion-index']>": str(index), "<spec.nodeName>": node}
    for name, value in variables.items():
        for words, given in own.items():
            value = value.replace(words, given)
        variables[name] = value
    words = [objects.expand(word, variables) for word in container["command"] + container.get("args", [])]
    return variables, words


def pod(workload, index, address, token_folder):
    name = workload.owner["metadata"]["name"] + (f"-{index}" if workload.job.get("completions") else "")
    spec = {key: workload.pod[key] for key in ("securityContext", "terminationGracePeriodSeconds")}
    spec |= {"restartPolicy": workload.pod["restartPolicy"], "hostname": name, "containers": []}
    spec["hostAliases"] = [{"ip": address, "hostnames": ["muster-coordinator"]}]
    for container in workload.containers:
        variables, words = resolved(workload, container, index, f"node-{index}")
        kept = {key: container[key] for key in ("name", "image", "securityContext", "resources", "volumeMounts")}
        kept["image"] = f"localhost/{container['image']}"
        kept |= {"command": words, "env": [{"name": n, "value": v} for n, v in variables.items()]}
        spec["containers"].append(kept)
    spec["volumes"] = [volume if "emptyDir" in volume else
                       {"name": volume["name"], "hostPath": {"path": token_folder, "type": "Directory"}}
                       for volume in workload.pod["volumes"]]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": workload.labels}, "spec": spec}


def main(manifests, address, token_folder, output):
    with open(manifests, encoding="utf-8") as file:
        found = list(yaml.safe_load_all(file))
    for workload in objects.workloads(found):
        for index in range(workload.job.get("completions", 1)):
            made = pod(workload, index, address, token_folder)
            target = pathlib.Path(output) / f"{made['metadata']['name']}.yaml"
            target.write_text(yaml.safe_dump(made), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
