#ifndef MUSTER_CLIENT_CLI_INQUIRE_TAR_H_
#define MUSTER_CLIENT_CLI_INQUIRE_TAR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/observe/bundle/bundle.h"

namespace muster::cli {

// Returns whether the name asks for compression: FILE.tar.gz or FILE.tgz.
bool IsCompressedTar(absl::string_view path);

// Writes a tar with tar(1) to a path, or to standard output for "-". It contains all files in the
// folder `name`, in order. The file is readable by this user only, and compressed if
// IsCompressedTar(). An error is a text for the user; it names the folder where the files are
// instead.
absl::Status WriteTar(const std::string& path, const std::string& name,
                      const std::vector<observe::File>& files);

}  // namespace muster::cli

#endif  // MUSTER_CLIENT_CLI_INQUIRE_TAR_H_
