#!/usr/bin/python3
"""Runs clang-tidy, with the checks of .clang-tidy, over the C++ files that are named.

Needs no build: flags are the same for all files, and headers are made from the .proto files here. A header
that has no .cc file of its name beside it among the files is looked at by itself. What is found in other
files than those that are named is not told. With --within, no file is begun after so many minutes; how many
were not looked at is said, and is no finding. A file that includes CUDA or NCCL where their headers are not
is named and passed by; where CI=true is set that is a finding.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from findings import Findings, tracked_files

DIAGNOSTIC = re.compile(r"(/[^:]+|[^:\s]+):(\d+):\d+: (warning|error): (.*) \[([\w.,-]+)\]$")
NO_CUDA = re.compile(r"'(nccl|cuda\w*|driver_types|vector_types)\.h' file not found")
PROTO_ROOTS = {"proto/": "proto", "tests/": "tests"}   # what imports start below, as in BUILD files; elsewhere the top
INSTALLED = os.path.join(os.environ.get("XDG_DATA_HOME") or os.path.join(os.environ.get("HOME", "/root"), ".local/share"),
                         "muster")


def make_protos(folder):
    plugin = shutil.which("grpc_cpp_plugin")
    for file in tracked_files("*.proto"):
        root = next((root for prefix, root in PROTO_ROOTS.items() if file.startswith(prefix)), ".")
        subprocess.run(["protoc", f"-I{root}", "-I/usr/include", f"--plugin=protoc-gen-grpc={plugin}",
                        f"--cpp_out={folder}", f"--grpc_out={folder}", file], check=True)


def cuda_folders():
    """Where tools/install-cuda looks and puts things."""
    roots = [os.environ.get(name) for name in ("CUDA_PATH", "NCCL_PATH", "NCCL_HOME", "MUSTER_CUDA_HOME")]
    return [os.path.join(root, "include") for root in roots + ["/usr/local/cuda", INSTALLED + "/cuda"] if root]


def units_of(files):
    """Sources, and headers that none of them stands for."""
    named = set(files)
    return [file for file in files
            if not file.endswith(".h") or not {file[:-2] + ".cc", file[:-2] + ".cu"} & named]


def pmix_folders():
    """Where Debian's libpmix-dev puts its headers."""
    return glob.glob("/usr/lib/*/pmix2/include")


def flags(generated):
    result = ["-std=c++17", "-I.", "-Iclient/include", f"-I{generated}"]
    for folder in filter(os.path.isdir, cuda_folders() + pmix_folders()):
        result += ["-isystem", folder]
    return result


def run_tidy(tidy, file, generated, deadline):
    if deadline and time.monotonic() > deadline:
        return None
    language = ["-xc++"] if file.endswith(".h") else []
    command = [tidy, "--quiet", file, "--", *language, *flags(generated)]
    return subprocess.run(command, capture_output=True, text=True)


def report(findings, files, unit, done):
    """Whether the file could be looked at."""
    if NO_CUDA.search(done.stdout):
        if os.environ.get("CI") == "true":
            findings.add(unit, 1, "includes CUDA or NCCL, which are not here; run tools/install-deps --cuda first")
        return False
    for line in done.stdout.split("\n"):
        match = DIAGNOSTIC.match(line)
        file = os.path.relpath(match[1]) if match else ""
        if match and (file in files or match[3] == "error"):
            findings.add(file, match[2], f"{match[4]} [{match[5]}]; mend it, or say why not: // NOLINT({match[5]})")
    if done.returncode != 0 and "error:" not in done.stdout:
        findings.add(unit, 1, f"clang-tidy has failed with status {done.returncode}: {done.stderr.strip()[-500:]}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--within", type=float, metavar="MINUTES", help="begin no file later than that")
    parser.add_argument("--clang-tidy", default="clang-tidy", help="the program")
    parser.add_argument("files", nargs="*", help="C++ sources and headers")
    args = parser.parse_args()
    files, findings = set(args.files), Findings("tidy")
    units = units_of(args.files)
    deadline = time.monotonic() + args.within * 60 if args.within is not None else None
    left_out, without_cuda = [], []
    with tempfile.TemporaryDirectory() as generated:
        if units:
            make_protos(generated)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            runs = [(unit, pool.submit(run_tidy, args.clang_tidy, unit, generated, deadline)) for unit in units]
            for unit, run in runs:
                done = run.result()
                if done is None:
                    left_out.append(unit)
                elif not report(findings, files, unit, done):
                    without_cuda.append(unit)
    if without_cuda:
        print(f"tidy: {len(without_cuda)} files need CUDA's or NCCL's headers, which are not here: {' '.join(without_cuda)}")
    if left_out:
        print(f"tidy: {len(left_out)} of {len(units)} files were not looked at within {args.within:g} minutes")
    sys.exit(findings.exit_code())


if __name__ == "__main__":
    main()
