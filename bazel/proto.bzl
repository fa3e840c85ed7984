"""Generates C++ from .proto files with Debian's protoc. Bazel's own rules would compile another protoc, and a second
protobuf library beside Debian's, with which gRPC is linked."""

load(":cc.bzl", "muster_cc_library")

# Outside the functions: inside, Bazel 4 resolves a label in the repository of the caller.
_PROTOBUF = Label("@debian//:protobuf")
_GRPC = Label("@debian//:grpc++")

_ImportedInfo = provider(
    "What .proto files of others may import.",
    fields = {
        "files": "depset of .proto files, and of all that they import",
        "roots": "depset of the folders that their imports start below",
    },
)

def _generate_impl(ctx):
    root = "/".join([part for part in [ctx.label.workspace_root, ctx.attr.strip_import_prefix] if part])
    generated = ctx.bin_dir.path + ("/" + root if root else "")
    imported = [dep[_ImportedInfo] for dep in ctx.attr.deps]
    files = depset(ctx.files.srcs, transitive = [info.files for info in imported])

    # A .proto file may be a generated file.
    roots = depset([root or ".", generated], transitive = [info.roots for info in imported])
    arguments = ctx.actions.args()
    arguments.add_all(roots, format_each = "-I%s")
    arguments.add("-I/usr/include")
    arguments.add(generated, format = "--cpp_out=%s")
    if ctx.attr.grpc:
        arguments.add(ctx.file._grpc_cpp_plugin, format = "--plugin=protoc-gen-grpc=%s")
        arguments.add(generated, format = "--grpc_out=%s")
    arguments.add_all(ctx.files.srcs)
    ctx.actions.run(
        executable = ctx.file._protoc,
        arguments = [arguments],
        inputs = files,
        outputs = ctx.outputs.outs,
        tools = [ctx.file._grpc_cpp_plugin],
        mnemonic = "MusterProtoc",
        progress_message = "Generating C++ of %s" % ctx.label,
    )
    return [_ImportedInfo(files = files, roots = roots)]

_generate = rule(
    implementation = _generate_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".proto"], mandatory = True),
        "outs": attr.output_list(mandatory = True),
        "deps": attr.label_list(providers = [_ImportedInfo]),
        "strip_import_prefix": attr.string(),
        "grpc": attr.bool(),
        "_protoc": attr.label(default = Label("@debian//:protoc"), allow_single_file = True, cfg = "exec"),
        "_grpc_cpp_plugin": attr.label(default = Label("@debian//:grpc_cpp_plugin"), allow_single_file = True, cfg = "exec"),
    },
)

# Returns the target that generates the code of the library `label`.
def _generation_of(label):
    if "//" in label and ":" not in label:
        label += ":" + label.split("/")[-1]
    return label + "_generate"

def muster_cc_proto_library(name, srcs, deps = [], strip_import_prefix = "", grpc = False, visibility = None):
    """Declares a cc_library of the messages in `srcs`, and of their gRPC stubs.

    Args:
      name: of the library.
      srcs: .proto files of this package.
      deps: libraries of this rule whose files `srcs` import. Files of google/protobuf need none.
      strip_import_prefix: folder, from the workspace's root, to which imports and #includes are relative.
      grpc: whether to generate gRPC stubs.
      visibility: as usual.
    """
    suffixes = [".pb.h", ".pb.cc"] + ([".grpc.pb.h", ".grpc.pb.cc"] if grpc else [])
    outs = [src[:-len(".proto")] + suffix for src in srcs for suffix in suffixes]
    _generate(
        name = name + "_generate",
        srcs = srcs,
        outs = outs,
        deps = [_generation_of(dep) for dep in deps],
        strip_import_prefix = strip_import_prefix,
        grpc = grpc,
        visibility = visibility,
    )
    muster_cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        strip_include_prefix = "/" + strip_import_prefix if strip_import_prefix else None,
        deps = deps + [_GRPC if grpc else _PROTOBUF],
        visibility = visibility,
    )
