#ifndef MUSTER_CLIENT_LAUNCHER_INCARNATION_H_
#define MUSTER_CLIENT_LAUNCHER_INCARNATION_H_

#include <string>

namespace muster::launcher {

// 16 random bytes, which name one start of a process.
std::string NewIncarnation();

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_INCARNATION_H_
