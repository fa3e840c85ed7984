"""Finds the object files of tools/install-pic-objects, for the shared libraries."""

load(":home.bzl", "home_variables", "installed_home")

# Makes a link whose target need not exist. The glob checks the target in every build, so the next build sees
# what was installed or removed in between.
def _pic_objects_repository_impl(ctx):
    ctx.symlink(installed_home(ctx, "pic"), "installed")
    ctx.symlink(installed_home(ctx, "gloo"), "gloo")
    ctx.file("without_gloo")
    ctx.file("BUILD.bazel", """
constraint_setting(name = "objects_of_shared_libraries")

# Bazel names it when somebody asks for a shared library where they are missing.
constraint_value(
    name = "run_tools_install_pic_objects",
    constraint_setting = ":objects_of_shared_libraries",
)

filegroup(
    name = "objects",
    srcs = glob(["installed/*.o"]),
    visibility = ["//visibility:public"],
)

# The objects of Gloo, or a file that is no object if there are none: client/shared/link_portable.sh looks.
filegroup(
    name = "gloo_objects",
    srcs = glob(["gloo/*.o"]) or ["without_gloo"],
    visibility = ["//visibility:public"],
)

# Nothing, which nevertheless cannot be had without them.
cc_library(
    name = "installed_objects",
    target_compatible_with = [] if glob(["installed/*.o"]) else [":run_tools_install_pic_objects"],
    visibility = ["//visibility:public"],
)
""")

pic_objects_repository = repository_rule(
    implementation = _pic_objects_repository_impl,
    environ = home_variables("pic") + home_variables("gloo"),
    local = True,
)
