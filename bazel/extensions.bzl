"""The module extensions of MODULE.bazel, the counterpart of workspace.bzl. Bazel 4 never loads this file."""

load(":cuda.bzl", "cuda_repository")
load(":debian.bzl", "debian_repository")
load(":kubernetes.bzl", "kubernetes_tools_repository")
load(":mpi.bzl", "mpi_libraries_repository")
load(":mpich_tests.bzl", "mpich_tests_repository")
load(":nccl_source.bzl", "nccl_source_repositories")
load(":pic_objects.bzl", "pic_objects_repository")
load(":prometheus.bzl", "prometheus_tools_repository")
load(":torch.bzl", "torch_repository")

def _machine_impl(_ctx):
    debian_repository(name = "debian")
    cuda_repository(name = "cuda")

machine = module_extension(
    implementation = _machine_impl,
    doc = "The repositories of Muster: what is on this machine.",
)

def _tests_impl(_ctx):
    kubernetes_tools_repository(name = "kubernetes_tools")
    mpi_libraries_repository(name = "mpi_libraries")
    mpich_tests_repository(name = "mpich_tests")
    nccl_source_repositories()
    pic_objects_repository(name = "muster_pic")
    prometheus_tools_repository(name = "prometheus_tools")
    torch_repository(name = "torch_peer")

tests = module_extension(
    implementation = _tests_impl,
    doc = "What only Muster's own tests, and the libraries that tools/install installs, need.",
)
