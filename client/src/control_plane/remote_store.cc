#include "client/src/control_plane/remote_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/src/control_plane/store_driver.h"

namespace muster::internal {

RemoteStore::RemoteStore(StoreClientOptions options, StoreTransportFactory transport)
    : options_(std::move(options)), transport_(std::move(transport)) {}

RemoteStore::~RemoteStore() {
  if (getpid() == process_) return;
  // A fork has no thread to join, and must not touch the parent's connection.
  new std::shared_ptr<StorePlane>(std::move(driver_));  // leaked on purpose
}

absl::StatusOr<std::shared_ptr<StorePlane>> RemoteStore::Get() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!closed_.ok()) return closed_;
  if (driver_ != nullptr) return driver_;
  absl::StatusOr<std::shared_ptr<StoreDriver>> driver = StoreDriver::Start(options_, transport_());
  if (!driver.ok()) {
    return absl::Status(driver.status().code(),
                        absl::StrCat("job '", options_.job_id, "': ", driver.status().message()));
  }
  driver_ = *std::move(driver);
  return driver_;
}

void RemoteStore::Close(const absl::Status& why) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (closed_.ok()) closed_ = why;
  const std::shared_ptr<StorePlane> driver = std::move(driver_);
  lock.unlock();
  // Threads of the program that are in a call keep the driver for as long as that.
  if (driver != nullptr) driver->Close(why);
}

}  // namespace muster::internal
