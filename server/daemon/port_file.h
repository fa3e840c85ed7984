#ifndef MUSTER_SERVER_DAEMON_PORT_FILE_H_
#define MUSTER_SERVER_DAEMON_PORT_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::daemon {

// A file with a port number and a newline, which exists while the object lives. It appears at once
// with its whole content, so a reader never sees a part of it.
class PortFile {
 public:
  // Writes the file. Returns null if `path` is empty. INVALID_ARGUMENT names the flag and the path,
  // and says why the file cannot be written.
  static absl::StatusOr<std::unique_ptr<PortFile>> Write(absl::string_view flag,
                                                         const std::string& path, int port);
  ~PortFile();

 private:
  explicit PortFile(std::string path);

  const std::string path_;
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_PORT_FILE_H_
