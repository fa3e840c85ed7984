#ifndef MUSTER_SERVER_JOURNAL_RESTORED_REQUEST_H_
#define MUSTER_SERVER_JOURNAL_RESTORED_REQUEST_H_

#include <variant>

#include "absl/status/statusor.h"
#include "server/core/requests.h"
#include "server/journal/journal.pb.h"
#include "server/journal/stand_ins.h"

namespace muster::journal {

// What a step brought into the core; monostate where it brought no request.
using Request =
    std::variant<std::monostate, core::AttachRequest, core::JoinRequest, core::RejoinRequest,
                 core::CollectiveRequest, core::NodeCollectiveRequest, core::WithdrawRequest,
                 core::ReleaseRequest, core::AcquireLeaseRequest, core::CompleteLeaseRequest,
                 core::AbandonLeaseRequest, core::LeaveRequest, core::StopRequest, core::ExitReport,
                 core::ProcessStateReport>;

// The request of a step as the core had it, but for its payloads. DATA_LOSS: it cannot be read.
absl::StatusOr<Request> Restore(const Step& step, StandIns* stand_ins);

}  // namespace muster::journal

#endif  // MUSTER_SERVER_JOURNAL_RESTORED_REQUEST_H_
