#include "client/cli/run/mpi_choice.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/launcher/pmix_library.h"
#include "client/launcher/process/find_program.h"
#include "client/launcher/process/linked_libraries.h"

namespace muster::cli {
namespace {

using launcher::Pmi;

constexpr char kAdvice[] = "docs/doors.md says what to install";

absl::StatusOr<std::string> UsablePmixLibrary() {
  absl::StatusOr<std::string> path = launcher::FindPmixLibrary(launcher::SelfPath());
  if (!path.ok()) return path;
  const absl::StatusOr<const MusterPmix*> library = launcher::LoadPmixLibrary(*path);
  if (!library.ok()) return library.status();
  return path;
}

}  // namespace

absl::Status ChooseMpi(const std::string& program, LaunchPlan* plan) {
  launcher::JobPlan& job = plan->job;
  if (job.pmi == Pmi::kOff) return absl::OkStatus();
  const std::string linked = launcher::PmixLibraryOf(launcher::LinkedLibraries(program));
  if (job.pmi == Pmi::kPmi1 && linked.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> library = UsablePmixLibrary();
  if (library.ok()) {
    job.pmi = Pmi::kPmix;
    job.pmix_library = *library;
    return absl::OkStatus();
  }
  const absl::string_view why = library.status().message();
  if (job.pmi == Pmi::kPmix) {
    return absl::Status(
        library.status().code(),
        absl::StrCat("--pmi=pmix: muster run cannot serve PMIx here: ", why, "; ", kAdvice));
  }
  if (job.world_size() == 1) return absl::OkStatus();
  plan->mpi_warning = absl::StrCat(
      program, " is linked with Open MPI (", linked,
      "), which does not get its ranks from muster run here: each process is rank 0 of 1. ", why,
      "; ", kAdvice, ", or start it by mpirun");
  return absl::OkStatus();
}

}  // namespace muster::cli
