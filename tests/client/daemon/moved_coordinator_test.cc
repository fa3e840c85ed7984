// Tests of a coordinator that is restarted at another address, under the same name.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <cstring>
#include <future>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "muster/job.h"
#include "tests/client/daemon/jobs.h"
#include "tests/util/job/status_reader.h"

namespace muster::testing {
namespace {

constexpr const char* kName = "coordinator.test";

// The address that the name service has for kName.
class NameEntry {
 public:
  void MoveTo(const char* address) {
    absl::MutexLock lock(&mutex_);
    address_ = address;
  }
  void Remove() { MoveTo(nullptr); }

  // Returns nullptr if there is no address, and counts the miss.
  const char* LookUp() {
    absl::MutexLock lock(&mutex_);
    if (address_ == nullptr) ++misses_;
    return address_;
  }

  // Waits until `misses` look-ups have found no address. Returns false after a time-out.
  bool AwaitMisses(int misses) {
    const auto enough = [&] { return misses_ >= misses; };
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(1));
  }

 private:
  absl::Mutex mutex_;
  const char* address_ ABSL_GUARDED_BY(mutex_) = "127.0.0.1";
  int misses_ ABSL_GUARDED_BY(mutex_) = 0;
};

NameEntry& Entry() {
  static NameEntry* const entry = new NameEntry;
  return *entry;
}

}  // namespace

// Replaces the C library's function, for gRPC too.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  using Function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr || std::strcmp(node, kName) != 0) return next(node, service, hints, result);
  const char* const address = Entry().LookUp();
  return address == nullptr ? EAI_NONAME : next(address, service, hints, result);
}

namespace {

TEST(MovedCoordinatorTest, IsFollowedToItsNewAddressAlsoWhenTheNameWasGone) {
  auto daemon = TestDaemon::Start();
  ASSERT_NE(daemon, nullptr);
  const int port = daemon->port();
  Jobs jobs(absl::StrCat(kName, ":", port), 2);
  auto before = std::async(std::launch::async, [&] { return jobs[0].Barrier("x"); });
  ASSERT_TRUE(StatusReader(daemon->address()).WaitForParked(1, "Barrier"));
  daemon->Kill();
  Entry().Remove();
  EXPECT_TRUE(Entry().AwaitMisses(5)) << "nobody looks for the name";
  daemon = TestDaemon::Start({}, {}, absl::StrCat("127.0.0.2:", port));
  ASSERT_NE(daemon, nullptr);
  Entry().MoveTo("127.0.0.2");
  EXPECT_EQ(jobs[1].Barrier("x"), absl::OkStatus());
  EXPECT_EQ(before.get(), absl::OkStatus());
}

}  // namespace
}  // namespace muster::testing
