#ifndef MUSTER_TESTS_UTIL_PROCESS_NAMESPACES_H_
#define MUSTER_TESTS_UTIL_PROCESS_NAMESPACES_H_

#include <string>

namespace muster::testing {

// Moves this process into its own namespaces (CLONE_NEWNET, CLONE_NEWNS). If the process lacks the
// right, also enters a user namespace, in which it is root. Must be called before any thread
// is started. Returns "", or why this machine does not allow it.
std::string EnterNamespaces(int kinds);

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_NAMESPACES_H_
