#ifndef MUSTER_CLIENT_LAUNCHER_BINDING_CORE_CLAIMS_H_
#define MUSTER_CLIENT_LAUNCHER_BINDING_CORE_CLAIMS_H_

#include <memory>
#include <string>

#include "client/launcher/binding/node_layout.h"

namespace muster::launcher {

// The cores that this user's launchers on this machine have bound ranks to. Two launchers of one
// job, or of two jobs, thus choose different cores. A claim ends with this object or its process.
//
// The claims are locks on bytes of a file, one byte for each CPU. Launchers in containers with
// other files, and launchers of other users, do not see them.
class CoreClaims {
 public:
  // Opens the file, and waits until no other launcher chooses cores. Returns null if the file
  // cannot be used, such as on a read-only file system.
  static std::unique_ptr<CoreClaims> Open(const std::string& path);
  ~CoreClaims();
  CoreClaims(const CoreClaims&) = delete;
  CoreClaims& operator=(const CoreClaims&) = delete;

  // Returns whether no other launcher has claimed a CPU of the core.
  bool IsFree(const Core& core) const;
  void Claim(const Cpus& cpus);
  // Lets other launchers choose.
  void DoneChoosing();

 private:
  explicit CoreClaims(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_BINDING_CORE_CLAIMS_H_
