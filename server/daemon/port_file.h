#ifndef MUSTER_SERVER_DAEMON_PORT_FILE_H_
#define MUSTER_SERVER_DAEMON_PORT_FILE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::daemon {

// A file that holds a port number and a newline, for as long as the object lives. Whoever sees the
// file sees all of it.
class PortFile {
 public:
  // Null where there is no path. INVALID_ARGUMENT names the flag and the path, and says why it
  // cannot be written.
  static absl::StatusOr<std::unique_ptr<PortFile>> Write(absl::string_view flag,
                                                         const std::string& path, int port);
  ~PortFile();

 private:
  explicit PortFile(std::string path);

  const std::string path_;
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_PORT_FILE_H_
