#ifndef MUSTER_CLIENT_CLI_TAR_H_
#define MUSTER_CLIENT_CLI_TAR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/observe/bundle.h"

namespace muster::cli {

// By its name: FILE.tar.gz, FILE.tgz.
bool IsCompressedTar(absl::string_view path);

// Writes a tar by tar(1) to a path, or for "-" to standard output, with all files in the folder
// `name`, in their order; the path becomes a file for this user alone, compressed where its name
// says so. The text of an error is for the user, and names the folder in which the files are then.
absl::Status WriteTar(const std::string& path, const std::string& name,
                      const std::vector<observe::File>& files);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_TAR_H_
