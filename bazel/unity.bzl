"""unity_cc_library: a muster_cc_library of several sources that are compiled as one.

Most of the time of a build goes into headers, which each source reads anew: a library of ten sources
compiles in less than half the time when one file includes the ten. The price: after a change of one
source, the library's others are compiled again, and two sources of a library cannot have different
functions of one signature in their unnamed namespaces. `--define=unity=off` compiles each source on
its own; so does clang-tidy, which finds a source that relies on another's includes.
"""

load("//bazel:cc.bzl", "muster_cc_library")

# GCC takes an included source for a header, in which a type with external linkage must not contain one of
# an unnamed namespace.
_HEAD = """#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
"""

def _unity_source_impl(ctx):
    source = ctx.actions.declare_file(ctx.label.name + ".cc")
    labels = [file.owner for file in ctx.files.srcs]
    ctx.actions.write(source, _HEAD + "".join([
        '#include "%s/%s"\n' % (label.package, label.name)
        for label in labels
    ]))
    return [DefaultInfo(files = depset([source]))]

_unity_source = rule(
    implementation = _unity_source_impl,
    attrs = {"srcs": attr.label_list(allow_files = [".cc"])},
    doc = "Writes a source that includes all srcs.",
)

def unity_cc_library(name, srcs, deps = [], testonly = None, **kwargs):
    """A muster_cc_library whose sources are compiled as one.

    Args:
      name: of the library.
      srcs: at least two sources, and headers that nobody else includes.
      deps: as for cc_library.
      testonly: as for cc_library.
      **kwargs: as for cc_library.
    """
    sources = [src for src in srcs if src.endswith(".cc")]
    headers = [src for src in srcs if not src.endswith(".cc")]
    if len(sources) < 2:
        fail("%s has fewer than two sources: use muster_cc_library" % name)
    _unity_source(
        name = name + "_unity",
        srcs = sources,
        testonly = testonly,
        visibility = ["//visibility:private"],
    )

    # Lets the compiler see the sources that are included.
    native.cc_library(
        name = name + "_sources",
        textual_hdrs = sources,
        testonly = testonly,
        visibility = ["//visibility:private"],
    )
    muster_cc_library(
        name = name,
        srcs = headers + select({
            "//bazel:separate_sources": sources,
            "//conditions:default": [name + "_unity"],
        }),
        deps = deps + [name + "_sources"],
        testonly = testonly,
        **kwargs
    )
