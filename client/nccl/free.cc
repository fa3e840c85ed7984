#include "client/nccl/free.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/nccl/device.h"
#include "client/nccl/handle.h"
#include "muster/log.h"

namespace muster::internal {

void FreeOnDevice(int device, absl::string_view what, std::function<void()> free) {
  const auto freed = std::make_shared<absl::Notification>();
  std::thread([device, free = std::move(free), freed] {
    UseDevice(device);
    free();
    freed->Notify();
  }).detach();
  if (freed->WaitForNotificationWithTimeout(NcclHandle::kStopWait)) return;
  Log(LogLevel::kWarning,
      absl::StrCat(what, " is freed later: GPU ", device, " has not ended its work within ",
                   absl::FormatDuration(NcclHandle::kStopWait), ", and CUDA frees nothing before"));
}

}  // namespace muster::internal
