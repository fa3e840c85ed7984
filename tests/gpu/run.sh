#!/bin/bash
# Runs the checks of this bundle on a machine with one NVIDIA GPU. See --help.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

usage() {
  cat <<EOF
Usage: ./run [--list] [--help] [--gtest_filter=PATTERN]

Checks Muster's NCCL data plane on this machine's first GPU with 1, 2 and 4 ranks, prints a table,
and ends with status 0 if every check passed. Takes about 5 minutes. Needs the NVIDIA driver,
$(needed), which are looked for in LD_LIBRARY_PATH, in the CUDA
toolkit, among the system's libraries, and in the packages of the Python in PATH.

  --list                      name every check, and end
  --gtest_filter='Speed.*'    run only these
EOF
}

# Prints the libraries that the programs were linked with, as tools/gpu-test has noted them.
needed() { echo "$(sed -n 1p needs) and NCCL ($(sed -n 2p needs)) $(sed -n 3p needs) or newer"; }

python_folders() {
  local python
  python=$(command -v python3 || command -v python) || return 0
  "$python" -c 'import site, sysconfig
for folder in dict.fromkeys([sysconfig.get_paths()["purelib"], *site.getsitepackages()]):
    print(folder)' 2>/dev/null || true
}

candidate_folders() {
  local folder
  tr ':' '\n' <<< "${LD_LIBRARY_PATH:-}"
  for folder in "${CUDA_PATH:-/usr/local/cuda}" /usr/local/cuda /usr/local/cuda-*; do
    printf '%s\n' "$folder"/{lib64,lib,"targets/$(uname -m)-linux/lib"}
  done
  ldconfig -p 2>/dev/null | awk -v a="$(sed -n 1p needs)" -v b="$(sed -n 2p needs)" \
    '$1 == a || $1 == b { sub("/[^/]*$", "", $NF); print $NF }' || true
  python_folders | while read -r folder; do
    printf '%s\n' "$folder"/nvidia/{nccl,cu13,cuda_runtime}/lib
  done
}

# folders_with LIBRARY
folders_with() {
  local folder
  candidate_folders | awk 'NF && !seen[$0]++' | while read -r folder; do
    [[ ! -e $folder/$1 ]] || echo "$folder"
  done
}

# Tests whether the programs start. Older libraries of the same names lack functions.
fits() { LD_BIND_NOW=1 LD_LIBRARY_PATH=$1 tests/gpu/rank --help >/dev/null 2>&1; }

# find_libraries: sets LD_LIBRARY_PATH.
find_libraries() {
  local cudart nccl path
  for cudart in "${cudarts[@]}"; do
    for nccl in "${nccls[@]}"; do
      path=$nccl:$cudart${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
      fits "$path" || continue
      export LD_LIBRARY_PATH=$path
      echo "$cudart/$(sed -n 1p needs), $nccl/$(sed -n 2p needs)"
      return 0
    done
  done
  return 1
}

describe_machine() {
  echo "$(uname -srm), $(nproc) CPUs"
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null ||
    echo "nvidia-smi is not there, or finds no GPU"
}

case ${1:-} in
  --help | -h) usage; exit 0 ;;
  --list) exec tests/gpu/gpu_test --list ;;
esac

mapfile -t cudarts < <(folders_with "$(sed -n 1p needs)")
mapfile -t nccls < <(folders_with "$(sed -n 2p needs)")
describe_machine
if ! find_libraries; then
  echo "run: needs $(needed). Found:" >&2
  printf '  %s\n' "${cudarts[@]/%//$(sed -n 1p needs)}" "${nccls[@]/%//$(sed -n 2p needs)}" >&2
  echo "Install them, for example as NVIDIA's wheels in a Python environment, or name their folder in
LD_LIBRARY_PATH." >&2
  exit 1
fi
exec tests/gpu/gpu_test "$@"
