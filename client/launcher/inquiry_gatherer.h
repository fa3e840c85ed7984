#ifndef MUSTER_CLIENT_LAUNCHER_INQUIRY_GATHERER_H_
#define MUSTER_CLIENT_LAUNCHER_INQUIRY_GATHERER_H_

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/launcher/coordinator_client.h"
#include "client/launcher/rank_looks.h"
#include "client/observe/bundle.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::launcher {

// Reports to the coordinator, with as much of the files as it takes: of a node it counts what was
// seen of the ranks too, and of all nodes what others have sent.
void SendReport(CoordinatorClient* client, muster::v1::ReportInquiryRequest report,
                std::vector<observe::File> files);

// Gathers bundles on a thread of its own, one after the other, since a process has room for one
// debugger; and brings each to where it is wanted: the coordinator, a folder, or both.
class InquiryGatherer : public std::enable_shared_from_this<InquiryGatherer> {
 public:
  // What is to be gathered for whom. `report` is the one that was sent of this inquiry: it goes out
  // once more, with the files, as the last one, where the inquiry wants files.
  struct Task {
    std::shared_ptr<CoordinatorClient> client;
    std::shared_ptr<const RankLooks> looks;
    muster::v1::Inquiry inquiry;
    muster::v1::ReportInquiryRequest report;
  };

  // `debug_dir` may be empty. `tell` takes a line for the user, on any thread.
  InquiryGatherer(std::string debug_dir, std::function<void(std::string)> tell)
      : debug_dir_(std::move(debug_dir)), tell_(std::move(tell)) {}

  // Whether a bundle is wanted for this inquiry. Then Start() must follow. From one thread alone,
  // as is Start().
  bool Reserve(const muster::v1::Inquiry& inquiry);
  // Does not wait.
  void Start(Task task);

  // Whether a bundle is on its way into the folder: from Reserve() on. From any thread.
  bool writing() const { return writing_; }

 private:
  void Run(Task task);
  std::optional<Task> Next();
  void Deliver(Task task);
  void Write(const Task& task, std::vector<observe::File> files);
  void GiveUp(Task task, const absl::Status& why);

  const std::string debug_dir_;
  const std::function<void(std::string)> tell_;
  std::atomic<bool> writing_{false};

  std::mutex mutex_;
  // All below under the mutex.
  bool busy_ = false;
  std::optional<Task> next_;  // the latest: an inquiry ends where another one begins
  int bundles_ = 0;           // written so far
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_INQUIRY_GATHERER_H_
