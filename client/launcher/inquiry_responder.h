#ifndef MUSTER_CLIENT_LAUNCHER_INQUIRY_RESPONDER_H_
#define MUSTER_CLIENT_LAUNCHER_INQUIRY_RESPONDER_H_

#include <memory>
#include <string>
#include <vector>

#include "client/launcher/client_group.h"
#include "client/launcher/coordinator_client.h"
#include "client/launcher/inquiry_gatherer.h"
#include "client/launcher/job_plan.h"
#include "client/launcher/output_tails.h"
#include "client/launcher/rank_looks.h"

namespace muster::launcher {

// Looks at this node's ranks when the coordinator wants to know why the job stands still, and tells
// it. With a folder for that (JobPlan::debug_dir) it writes there what it finds, for the first ten
// times. Has a thread of its own, which waits in a call of the coordinator's; without it nothing
// else suffers. Its calls may come from one thread at a time.
class InquiryResponder {
 public:
  // `tails` may be null.
  InquiryResponder(const JobPlan& plan, std::shared_ptr<ClientGroup> group,
                   std::shared_ptr<const OutputTails> tails);
  // Does not wait.
  ~InquiryResponder();
  InquiryResponder(const InquiryResponder&) = delete;
  InquiryResponder& operator=(const InquiryResponder&) = delete;

  // Those that live, and those whose last process has ended: nothing is to be seen of these, but
  // that they were started is worth telling.
  void SetRanks(std::vector<WatchedRank> living, std::vector<WatchedRank> ended);

  // Becomes readable when there is something to tell the user, which TakeNews() does, a line each.
  int fd() const;
  std::vector<std::string> TakeNews();

  // Whether what it has found, or is about to find, is on its way into that folder. The news that
  // it has arrived are there before this ends, which takes half a minute at most.
  bool writing() const;

 private:
  struct State;
  static void Run(State* state, InquiryGatherer* gatherer);
  static void Answer(State* state, InquiryGatherer* gatherer,
                     const std::shared_ptr<CoordinatorClient>& client,
                     const muster::v1::Inquiry& inquiry);

  // Shared with the thread, which may be inside a call when this object goes.
  std::shared_ptr<State> state_;
  std::shared_ptr<InquiryGatherer> gatherer_;
};

}  // namespace muster::launcher

#endif  // MUSTER_CLIENT_LAUNCHER_INQUIRY_RESPONDER_H_
