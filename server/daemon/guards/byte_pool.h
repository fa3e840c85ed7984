#ifndef MUSTER_SERVER_DAEMON_GUARDS_BYTE_POOL_H_
#define MUSTER_SERVER_DAEMON_GUARDS_BYTE_POOL_H_

#include <cstdint>
#include <mutex>

namespace muster::daemon {

// A number of bytes that several owners share. Thread-safe.
class BytePool {
 public:
  explicit BytePool(uint64_t size) : left_(size) {}

  // Takes bytes out of the pool. Returns false, and takes none, if fewer are left.
  bool Take(uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  void GiveBack(uint64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    left_ += bytes;
  }

 private:
  std::mutex mutex_;
  uint64_t left_;
};

}  // namespace muster::daemon

#endif  // MUSTER_SERVER_DAEMON_GUARDS_BYTE_POOL_H_
