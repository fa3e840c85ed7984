#ifndef MUSTER_COMMON_PROCESS_LOCAL_COORDINATORS_H_
#define MUSTER_COMMON_PROCESS_LOCAL_COORDINATORS_H_

#include <memory>
#include <string>
#include <vector>

namespace muster {

// A coordinator of this user that runs on this machine.
struct LocalCoordinator {
  std::string job;
  std::string address;     // as a process of this machine reaches it
  std::string token_file;  // absolute; empty if it asks for no token
  int pid = 0;             // of musterd
};

// Returns the folder that lists a user's coordinators: MUSTER_RUNTIME_DIR, else muster/ in
// XDG_RUNTIME_DIR or /run/user/UID, else /tmp/muster-UID.
std::string RuntimeDirectory();

// Creates the folder if needed. Returns its path, or "" if it cannot be made or other users may
// write to it.
std::string MakeRuntimeDirectory();

// An entry in that list, for the lifetime of this object and its process. The entry is a locked
// file. A file that no process has locked was left behind, and counts as no entry.
class CoordinatorRegistration {
 public:
  // Adds an entry. Returns null if the folder cannot be made or other users may write to it; then
  // the coordinator is not listed.
  static std::unique_ptr<CoordinatorRegistration> Add(const LocalCoordinator& coordinator);
  ~CoordinatorRegistration();
  CoordinatorRegistration(const CoordinatorRegistration&) = delete;
  CoordinatorRegistration& operator=(const CoordinatorRegistration&) = delete;

 private:
  CoordinatorRegistration(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  const int fd_;
  const std::string path_;
};

// Returns all listed coordinators, sorted by job. Removes the files of processes that were killed.
std::vector<LocalCoordinator> FindLocalCoordinators();

}  // namespace muster

#endif  // MUSTER_COMMON_PROCESS_LOCAL_COORDINATORS_H_
