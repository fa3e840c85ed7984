#ifndef MUSTER_TESTS_UTIL_DEV_SHM_H_
#define MUSTER_TESTS_UTIL_DEV_SHM_H_

#include <string>

// What a process of a test sees as /dev/shm. Needs no right to mount anything, unlike namespaces: a
// test's program that has this library has its own open() and the like, which stand before libc's.
// Only opening, listing, naming and removing files goes there.
namespace muster::testing {

// From now on, this process and those that it forks see this folder as /dev/shm. Before any thread
// is started.
void ShowAsDevShm(std::string folder);

// From now on, there is no memory for any file.
void FillDevShm();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_DEV_SHM_H_
