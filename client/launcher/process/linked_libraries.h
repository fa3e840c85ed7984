#ifndef MUSTER_CLIENT_LAUNCHER_PROCESS_LINKED_LIBRARIES_H_
#define MUSTER_CLIENT_LAUNCHER_PROCESS_LINKED_LIBRARIES_H_

#include <string>
#include <vector>

namespace muster::launcher {

// Returns the shared libraries that a program names (DT_NEEDED), such as "libmpi.so.40". Returns
// none if the file cannot be read, or is not a little-endian 64-bit ELF file, such as a script.
std::vector<std::string> LinkedLibraries(const std::string& path);

// Returns the first of these libraries whose programs get their ranks by PMIx: Open MPI's, or
// libpmix itself. Returns "" if there is none.
std::string PmixLibraryOf(const std::vector<std::string>& libraries);

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_PROCESS_LINKED_LIBRARIES_H_
