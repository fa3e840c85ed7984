"""Finds the files of tools/install-deps --mpi, for the tests of programs that get their ranks by PMI."""

load(":home.bzl", "home_variables", "installed_home")

# Makes a link whose target need not exist. The glob checks the target in every build, so the next build sees
# what was installed or removed in between. Tests read the files beside the target.
def _mpi_libraries_repository_impl(ctx):
    ctx.symlink(installed_home(ctx, "mpi") + "/mpi-requirements.txt", "installed")
    ctx.file("BUILD.bazel", """
filegroup(
    name = "libraries",
    srcs = glob(["installed"]),
    visibility = ["//visibility:public"],
)
""")

mpi_libraries_repository = repository_rule(
    implementation = _mpi_libraries_repository_impl,
    environ = home_variables("mpi"),
    local = True,
)
