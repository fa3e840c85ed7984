"""Finds the files of tools/install-mpich-tests, for the tests that run MPICH's own test programs."""

load(":home.bzl", "home_variables", "installed_home")

# Makes a link whose target need not exist. The glob checks the target in every build, so the next build sees
# what was installed or removed in between. Tests read the files beside the target.
def _mpich_tests_repository_impl(ctx):
    ctx.symlink(installed_home(ctx, "mpich-tests") + "/versions", "installed")
    ctx.file("BUILD.bazel", """
constraint_setting(name = "programs_of_mpich")

# Bazel names it when somebody asks for a test of the programs where they are missing.
constraint_value(
    name = "run_tools_install_mpich_tests",
    constraint_setting = ":programs_of_mpich",
)

# The programs, without which what depends on it cannot be had.
cc_library(
    name = "programs",
    data = glob(["installed"]),
    target_compatible_with = [] if glob(["installed"]) else [":run_tools_install_mpich_tests"],
    visibility = ["//visibility:public"],
)
""")

mpich_tests_repository = repository_rule(
    implementation = _mpich_tests_repository_impl,
    environ = home_variables("mpich-tests"),
    local = True,
)
