#ifndef MUSTER_CLIENT_LAUNCHER_COORDINATOR_INQUIRY_RESPONDER_H_
#define MUSTER_CLIENT_LAUNCHER_COORDINATOR_INQUIRY_RESPONDER_H_

#include <memory>
#include <string>
#include <vector>

#include "client/launcher/coordinator/client_group.h"
#include "client/launcher/coordinator/coordinator_client.h"
#include "client/launcher/coordinator/inquiry_gatherer.h"
#include "client/launcher/coordinator/rank_inspection.h"
#include "client/launcher/plan/job_plan.h"
#include "client/launcher/process/output_tails.h"

namespace muster::launcher {

// The launcher's part in an inquiry. When the coordinator asks why the job stands still, looks at
// this node's ranks and reports what they are doing. If JobPlan::debug_dir is set, also writes the
// first ten bundles to that folder. Runs on its own thread, which waits in a GetInquiry call. If
// the thread cannot start, only hang diagnosis is missing. Call from one thread at a time.
class InquiryResponder {
 public:
  // `tails` may be null.
  InquiryResponder(const JobPlan& plan, std::shared_ptr<ClientGroup> group,
                   std::shared_ptr<const OutputTails> tails);
  // Does not block.
  ~InquiryResponder();
  InquiryResponder(const InquiryResponder&) = delete;
  InquiryResponder& operator=(const InquiryResponder&) = delete;

  // Sets the ranks to look at. `living` are inspected. `ended` are ranks whose last process has
  // ended; the report only says that they had started.
  void SetRanks(std::vector<WatchedRank> living, std::vector<WatchedRank> ended);

  // Becomes readable when there are lines for the user. TakeMessages() returns them.
  int fd() const;
  std::vector<std::string> TakeMessages();

  // Returns whether a bundle is being written, or about to be written, to debug_dir. The line that
  // announces the bundle is available before this turns false, after at most half a minute.
  bool writing() const;

 private:
  struct State;
  static void Run(State* state, InquiryGatherer* gatherer);
  static void Answer(State* state, InquiryGatherer* gatherer,
                     const std::shared_ptr<CoordinatorClient>& client,
                     const muster::v1::Inquiry& inquiry);

  // Shared with the thread, which may still be in a call when this object is destroyed.
  std::shared_ptr<State> state_;
  std::shared_ptr<InquiryGatherer> gatherer_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_COORDINATOR_INQUIRY_RESPONDER_H_
