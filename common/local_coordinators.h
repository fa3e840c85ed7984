#ifndef MUSTER_COMMON_LOCAL_COORDINATORS_H_
#define MUSTER_COMMON_LOCAL_COORDINATORS_H_

#include <memory>
#include <string>
#include <vector>

namespace muster {

// A coordinator of this user that serves on this machine.
struct LocalCoordinator {
  std::string job;
  std::string address;     // as a process of this machine reaches it
  std::string token_file;  // absolute; empty: it asks for no token
  int pid = 0;             // of musterd
};

// The folder in which a user's coordinators are listed: MUSTER_RUNTIME_DIR, else muster/ in
// XDG_RUNTIME_DIR or /run/user/UID, else /tmp/muster-UID.
std::string RuntimeDirectory();

// One line of that list, for as long as the object lives, or its process: the file is locked, and
// one that nobody has locked means nothing.
class ListedCoordinator {
 public:
  // Null where the folder cannot be made, or others may write into it: then nobody is told.
  static std::unique_ptr<ListedCoordinator> Add(const LocalCoordinator& coordinator);
  ~ListedCoordinator();
  ListedCoordinator(const ListedCoordinator&) = delete;
  ListedCoordinator& operator=(const ListedCoordinator&) = delete;

 private:
  ListedCoordinator(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  const int fd_;
  const std::string path_;
};

// All that are listed, by job. Removes what processes have left behind that were killed.
std::vector<LocalCoordinator> FindLocalCoordinators();

}  // namespace muster

#endif  // MUSTER_COMMON_LOCAL_COORDINATORS_H_
