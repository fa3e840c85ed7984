#ifndef MUSTER_TESTS_UTIL_NAMESPACES_H_
#define MUSTER_TESTS_UTIL_NAMESPACES_H_

#include <string>

namespace muster::testing {

// Moves this process into namespaces of its own: CLONE_NEWNET, CLONE_NEWNS. Where only a user
// namespace gives the right to that, into one in which we are root. Before any thread is started.
// Empty, or why this machine does not allow it.
std::string EnterNamespaces(int kinds);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_NAMESPACES_H_
