"""C++ from .proto files with Debian's protoc: Bazel's own proto rules would compile protoc from source."""

load(":cc.bzl", "muster_cc_library")

def cc_grpc_library(name, srcs, import_prefix, visibility = None):
    """A cc_library of the messages and gRPC stubs of `srcs`.

    Args:
      name: of the library.
      srcs: .proto files of this package.
      import_prefix: directory, from the workspace's root, that imports and #includes start below.
      visibility: as usual.
    """
    package = native.package_name()[len(import_prefix):].strip("/")
    prefix = package + "/" if package else ""
    stems = [src[:-len(".proto")] for src in srcs]
    outs = [stem + suffix for stem in stems for suffix in [".pb.h", ".pb.cc", ".grpc.pb.h", ".grpc.pb.cc"]]
    native.genrule(
        name = name + "_generate",
        srcs = srcs,
        outs = outs,
        tools = ["@debian//:protoc", "@debian//:grpc_cpp_plugin"],
        cmd = " ".join([
            # The first source's path, less its path below the import root, is the import root.
            "src=$$(echo $(SRCS) | cut -d' ' -f1); root=$${src%%/%s%s};" % (prefix, srcs[0]),
            "$(location @debian//:protoc) -I$$root -I/usr/include",
            "--plugin=protoc-gen-grpc=$(location @debian//:grpc_cpp_plugin)",
            "--cpp_out=$(RULEDIR)/%s --grpc_out=$(RULEDIR)/%s" % (_up(package), _up(package)),
            "$(SRCS)",
        ]),
    )
    muster_cc_library(
        name = name,
        srcs = [out for out in outs if out.endswith(".cc")],
        hdrs = [out for out in outs if out.endswith(".h")],
        strip_include_prefix = "/" + import_prefix,
        deps = ["@debian//:grpc++"],
        visibility = visibility,
    )

def _up(package):
    return "/".join([".."] * len(package.split("/"))) if package else "."
