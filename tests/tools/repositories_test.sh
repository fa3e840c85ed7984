#!/bin/bash
# Tests what Muster brings into other workspaces: bazel/{cc,proto,workspace,offline}.bzl and
# bazel/protobuf. The workspace asks for an old C++ standard, has .proto files, and has its own
# repositories under names that Muster uses too.
set -euo pipefail

rules=$PWD/bazel
root=$(realpath "$TEST_TMPDIR")

. tests/tools/fake_commands.sh

# make_repository NAME: makes a repository that belongs to the other workspace. Its C++ rules are
# Bazel's.
make_repository() {
  mkdir -p "$root/$1/cc"
  echo "workspace(name = \"$1\")" > "$root/$1/WORKSPACE"
  cp "$rules/stubs/rules_cc.bzl" "$root/$1/cc/defs.bzl"
  echo "cc_library(name = \"own\", defines = ['WHOSE=\"own\"'], visibility = [\"//visibility:public\"])" \
    > "$root/$1/cc/BUILD.bazel"
}

make_sources() {
  echo 'build --cxxopt=-std=c++0x --host_cxxopt=-std=c++0x' > .bazelrc
  echo 'build --proto_compiler=@debian//:protoc --proto_toolchain_for_cc=@muster//bazel/protobuf:cc' >> .bazelrc
  cat > BUILD.bazel <<'END'
load("@muster//bazel:cc.bzl", "muster_cc_binary", "muster_cc_library", "muster_cc_test")
load("@muster//bazel:proto.bzl", "muster_cc_proto_library")

proto_library(
    name = "model_proto",
    srcs = ["model.proto"],
)

cc_proto_library(
    name = "model",
    deps = [":model_proto"],
)

muster_cc_proto_library(
    name = "settings",
    srcs = ["settings.proto"],
    deps = ["//shared/own"],
)

muster_cc_library(
    name = "library",
    srcs = ["library.cc"],
    deps = [
        ":model",
        ":settings",
    ],
)

muster_cc_binary(
    name = "program",
    srcs = ["program.cc"],
    deps = [":library"],
)

muster_cc_test(
    name = "test",
    srcs = ["program.cc"],
    deps = [":library"],
)

muster_cc_library(
    name = "newer",
    srcs = ["newer.cc"],
    copts = ["-std=c++20"],
)

cc_library(
    name = "old",
    srcs = ["library.cc"],
)
END
  mkdir -p shared/own/names
  cat > shared/own/BUILD.bazel <<'END'
load("@muster//bazel:proto.bzl", "muster_cc_proto_library")

muster_cc_proto_library(
    name = "own",
    srcs = ["names/name.proto"],
    grpc = True,
    strip_import_prefix = "shared/own",
    visibility = ["//visibility:public"],
)
END
  cat > shared/own/names/name.proto <<'END'
syntax = "proto3";
package names;
message Name { string text = 1; }
service Names { rpc Find(Name) returns (Name); }
END
  cat > settings.proto <<'END'
syntax = "proto3";
package own;
import "google/protobuf/duration.proto";
import "names/name.proto";
message Settings {
  names.Name name = 1;
  google.protobuf.Duration patience = 2;
}
END
  cat > model.proto <<'END'
syntax = "proto3";
package own;
message Model { int64 layers = 1; }
END
  cat > library.cc <<'END'
#include <optional>
#include "model.pb.h"
#include "settings.pb.h"
std::optional<int> Sum(int layers) {
  own::Model model;
  model.set_layers(layers);
  own::Settings settings;
  settings.mutable_patience()->set_seconds(4);
  settings.mutable_name()->set_text("seven");
  return model.layers() + settings.patience().seconds() + settings.name().text().size();
}
END
  cat > program.cc <<'END'
#include <optional>
std::optional<int> Sum(int layers);
int main() { return *Sum(3) == 3 + 4 + 5 ? 0 : 1; }
END
  printf '%s\n' '#include <concepts>' 'template <std::integral T> T Twice(T value) { return 2 * value; }' \
    'int Four() { return Twice(2); }' > newer.cc
}

bazel() {
  env -u TEST_TMPDIR -u MUSTER_WITHOUT_CUDA HOME="$root/home" \
    bazel --nohome_rc --output_user_root="$root/bazel" --host_jvm_args=-Xmx300m --max_idle_secs=60 "$@"
}

# run COMMAND TARGET...: leaves the status in $status, and Bazel's output in the file `output`.
run() {
  status=0
  bazel "$1" --spawn_strategy=local --jobs=1 --color=no --curses=no --nosandbox_debug --compilation_mode=fastbuild \
    "${@:2}" > "$root/output" 2>&1 || status=$?
}

expect_success() { [[ $status == 0 ]] || fail "Bazel ended with status $status"; }
expect_failure() { [[ $status != 0 ]] || fail "that went well"; }
expect_output() { grep -qF -- "$1" "$root/output" || fail "the output lacks '$1'"; }

mkdir -p "$root/muster" "$root/workspace" "$root/home"
cp -rL "$rules" "$root/muster/bazel"
touch "$root/muster/WORKSPACE"
for name in rules_cc rules_proto debian cuda; do make_repository "$name"; done
cd "$root/workspace"
make_sources
trap 'bazel shutdown' EXIT

echo "== targets of Muster's rules are C++17 whatever .bazelrc says, and newer where they say so; .proto files of both rules"
cat > WORKSPACE <<END
local_repository(name = "muster", path = "$root/muster")
load("@muster//bazel:offline.bzl", "offline_repositories")
load("@muster//bazel:workspace.bzl", "muster_repositories")
muster_repositories()
offline_repositories()
END
run test //:program //:test //:newer
expect_success
run build //:old
expect_failure

echo "== repositories of one's own, before and after Muster's"
cat > WORKSPACE <<END
local_repository(name = "rules_proto", path = "$root/rules_proto")
local_repository(name = "muster", path = "$root/muster")
load("@muster//bazel:offline.bzl", "offline_repositories")
load("@muster//bazel:workspace.bzl", "muster_repositories")
muster_repositories()
local_repository(name = "rules_cc", path = "$root/rules_cc")
offline_repositories()
END
run build --nobuild //:program @rules_cc//cc:own @rules_proto//cc:own
expect_success

echo "== a repository of one's own under one of Muster's names: the error says what to do"
cat > WORKSPACE <<END
local_repository(name = "muster", path = "$root/muster")
local_repository(name = "cuda", path = "$root/cuda")
load("@muster//bazel:workspace.bzl", "muster_repositories")
muster_repositories()
END
run build --nobuild //:program
expect_failure
expect_output "this workspace has a repository @cuda of its own (a local_repository)"
expect_output 'muster_repositories(cuda = "muster_cuda")'
expect_output 'repo_mapping = {"@cuda": "@muster_cuda"}'

echo "== and that does it"
cat > WORKSPACE <<END
local_repository(
    name = "muster",
    path = "$root/muster",
    repo_mapping = {"@cuda": "@muster_cuda", "@debian": "@muster_debian"},
)
local_repository(name = "cuda", path = "$root/cuda")
local_repository(name = "debian", path = "$root/debian")
load("@muster//bazel:offline.bzl", "offline_repositories")
load("@muster//bazel:workspace.bzl", "muster_repositories")
muster_repositories(cuda = "muster_cuda", debian = "muster_debian")
offline_repositories()
END
sed -i 's/@debian/@muster_debian/' .bazelrc
cat >> BUILD.bazel <<'END'

load("@muster//bazel:nccl.bzl", "nccl_if_found")

muster_cc_library(
    name = "chosen",
    deps = nccl_if_found([":library"], otherwise = [":library"]),
)
END
run build --nobuild //:program //:chosen @cuda//cc:own @debian//cc:own
expect_success
