#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_INQUIRY_GATHERER_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_INQUIRY_GATHERER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/coordinator/rank_inspection.h"
#include "client/observe/bundle/bundle.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// Sends a report to the coordinator with as many files as it accepts. The coordinator limits the
// bytes of each node, observations of ranks included, and the bytes of all nodes together.
void SendReport(CoordinatorClient* client, muster::v1::ReportInquiryRequest report,
                std::vector<observe::File> files);

// Gathers bundles on its own thread, one after the other, because a process can have only one
// debugger. Delivers each to the coordinator, to a folder, or to both.
class InquiryGatherer : public std::enable_shared_from_this<InquiryGatherer> {
 public:
  // One bundle to gather. `report` is the report that was already sent for this inquiry. If the
  // inquiry wants files, it is sent a second time with the files, as the final one.
  struct Task {
    std::shared_ptr<CoordinatorClient> client;
    std::shared_ptr<const RankInspection> inspection;
    muster::v1::Inquiry inquiry;
    muster::v1::ReportInquiryRequest report;
  };

  // `debug_dir` may be empty. `notify` gets one line for the user, on any thread.
  InquiryGatherer(std::string debug_dir, std::function<void(std::string)> notify)
      : debug_dir_(std::move(debug_dir)), notify_(std::move(notify)) {}

  // Returns whether a bundle is wanted for this inquiry. If true, the caller must call Start().
  // Call both from one thread.
  bool Reserve(const muster::v1::Inquiry& inquiry);
  // Starts the task, or queues it behind the running one. Does not block.
  void Start(Task task);

  // Returns whether a bundle is being written to the folder, from Reserve() on. Thread-safe.
  bool writing() const { return writing_; }

 private:
  void Run(Task task);
  std::optional<Task> Next();
  void Deliver(Task task);
  void Write(const Task& task, std::vector<observe::File> files);
  void GiveUp(Task task, const absl::Status& why);

  const std::string debug_dir_;
  const std::function<void(std::string)> notify_;
  std::atomic<bool> writing_{false};

  std::mutex mutex_;
  // Guarded by mutex_:
  bool busy_ = false;
  std::optional<Task> next_;  // the latest only: a new inquiry ends the previous one
  int bundles_ = 0;           // written so far
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_INQUIRY_GATHERER_H_
