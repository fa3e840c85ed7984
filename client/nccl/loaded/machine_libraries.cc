#include "client/nccl/loaded/machine_libraries.h"

#include <nccl.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/nccl/device/features.h"
#include "client/nccl/device/libraries.h"
#include "client/nccl/device/nccl_types.h"

namespace muster::internal {
namespace {

constexpr absl::string_view kGetCuda =
    "install CUDA 12 or 13, or only its runtime (apt and dnf: cuda-cudart-12-8 or "
    "cuda-cudart-13-0; pip: nvidia-cuda-runtime-cu12 or nvidia-cuda-runtime)";
constexpr absl::string_view kGetNccl =
    "install NCCL 2.22 or newer for this machine's CUDA (apt: libnccl2; dnf: libnccl; pip: "
    "nvidia-nccl-cu12 or nvidia-nccl-cu13)";
constexpr absl::string_view kSayWhere =
    "; if the loader does not search its folder, name the folder in LD_LIBRARY_PATH";

absl::Status LoadCuda() {
  LoadedLibrary& cuda = CudaRuntime();
  if (const absl::Status opened = cuda.Open(); !opened.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the CUDA runtime cannot be loaded: ", opened.message(), "; ", kGetCuda, kSayWhere));
  }
  const absl::Status bound = cuda.Bind();
  if (bound.ok()) return bound;
  return absl::FailedPreconditionError(
      absl::StrCat("the CUDA runtime ", cuda.path(), " lacks ", bound.message(), "; ", kGetCuda));
}

// Returns the version of the open NCCL, such as 22809, or 0 if it does not tell.
int OpenNcclVersion() {
  const auto get_version =
      reinterpret_cast<decltype(&ncclGetVersion)>(NcclLibrary().Find("ncclGetVersion"));
  int version = 0;
  return get_version != nullptr && get_version(&version) == ncclSuccess ? version : 0;
}

absl::Status LoadNccl() {
  LoadedLibrary& nccl = NcclLibrary();
  if (const absl::Status opened = nccl.Open(); !opened.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("NCCL cannot be loaded: ", opened.message(), "; ", kGetNccl, kSayWhere));
  }
  const int version = OpenNcclVersion();
  if (version < kOldestNcclVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "NCCL ", NcclVersionText(version), " (", nccl.path(), ") is too old: Muster needs ",
        NcclVersionText(kOldestNcclVersion), " or newer; ", kGetNccl, kSayWhere));
  }
  const absl::Status bound = nccl.Bind();
  if (bound.ok()) return bound;
  return absl::FailedPreconditionError(absl::StrCat("NCCL ", NcclVersionText(version), " (",
                                                    nccl.path(), ") lacks ", bound.message(), "; ",
                                                    kGetNccl));
}

const bool kRegistered = RegisterLibraryLoader(&LoadMachineLibraries);

}  // namespace

absl::Status LoadMachineLibraries() {
  const absl::Status cuda = LoadCuda();
  return cuda.ok() ? LoadNccl() : cuda;
}

}  // namespace muster::internal
