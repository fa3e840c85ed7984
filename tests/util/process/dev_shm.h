#ifndef MUSTER_TESTS_UTIL_PROCESS_DEV_SHM_H_
#define MUSTER_TESTS_UTIL_PROCESS_DEV_SHM_H_

#include <string>

// Changes what a test's process sees as /dev/shm. Unlike namespaces, this needs no right to mount.
// The library defines open() and similar functions, which come before libc's. Only opening,
// listing, naming and removing files are redirected.
namespace muster::testing {

// Shows this folder as /dev/shm to this process and its later forks. Must be called before any
// thread is started.
void RedirectDevShm(std::string folder);

// Makes every later allocation of memory for a file fail, as in a full /dev/shm.
void FillDevShm();

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_DEV_SHM_H_
