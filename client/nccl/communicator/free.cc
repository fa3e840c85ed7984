#include "client/nccl/communicator/free.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "client/nccl/communicator/handle.h"
#include "client/nccl/device/cuda_device.h"
#include "common/process/start_thread.h"
#include "muster/log.h"

namespace muster::internal {

namespace {

// The work that could not get a thread yet. Thread-safe.
class DeferredWork {
 public:
  static DeferredWork& Get() {
    static DeferredWork* const deferred_work = new DeferredWork;  // threads may outlive main()
    return *deferred_work;
  }

  void Add(std::function<void()> work) {
    absl::MutexLock lock(&mutex_);
    work_.push_back(std::move(work));
  }

  void RunAll() {
    for (const std::function<void()>& work : TakeAll()) work();
  }

 private:
  std::vector<std::function<void()>> TakeAll() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(work_, {});
  }

  absl::Mutex mutex_;
  std::vector<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void FreeOnDevice(int device, absl::string_view what, std::function<void()> free) {
  const auto freed = std::make_shared<absl::Notification>();
  const std::function<void()> work = [device, free = std::move(free), freed] {
    UseDevice(device);
    free();
    freed->Notify();
  };
  const absl::Status started = StartDetachedThread("free what is on a GPU", [work] {
    work();
    DeferredWork::Get().RunAll();
  });
  if (!started.ok()) {
    DeferredWork::Get().Add(work);
    Log(LogLevel::kWarning,
        absl::StrCat(what, " stays on the GPU until another communicator is freed: GPU ", device,
                     " may be busy, and ", started.message()));
    return;
  }
  if (freed->WaitForNotificationWithTimeout(NcclHandle::kStopWait)) return;
  Log(LogLevel::kWarning,
      absl::StrCat(what, " is freed later: GPU ", device, " has not ended its work within ",
                   absl::FormatDuration(NcclHandle::kStopWait),
                   ", and CUDA frees nothing before that"));
}

}  // namespace muster::internal
