#ifndef MUSTER_SERVER_CORE_API_EFFECTS_H_
#define MUSTER_SERVER_CORE_API_EFFECTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/api/basic_types.h"
#include "server/core/api/job_status.h"
#include "server/core/api/observation.h"
#include "server/core/api/store_messages.h"

namespace muster::core {

// A slot in which the caller keeps the encoding of the part that many answers share, so that it is
// made once. Answers that share the part have the same slot. The core never looks into it.
struct EncodingSlot {
  std::shared_ptr<const void> encoding;
};

struct JoinAnswer {
  EpochId epoch;
  uint32_t rank = 0;
  std::shared_ptr<const Roster> roster;
  std::shared_ptr<EncodingSlot> encoding = nullptr;  // of the roster; may be null
  JobHistory history = {};
  bool stop_asked = false;
};

// The payloads are: for kBarrier none, for kBroadcast one, for kGather one per rank at the root and
// none elsewhere, for kAllGather one per rank.
struct CollectiveAnswer {
  std::shared_ptr<const std::vector<Bytes>> payloads;  // never null
  bool stop_requested = false;
  std::shared_ptr<EncodingSlot> encoding = nullptr;  // of the payloads; may be null
};

// The answer to a NodeCollective: which parts have completed, and the answer to each of them. If
// there are none, the members send calls of their own.
struct NodeAnswer {
  std::vector<uint32_t> completed;  // indices of parts, ascending
  CollectiveAnswer answer;          // meaningful if `completed` is not empty
};

struct LeaseGrant {
  uint64_t token = 0;
};

// The answer to a ReleaseGroups: digests of the request's groups that the coordinator does not
// know.
struct ReleaseAnswer {
  std::vector<std::string> settled;
};

using LeaseAnswer = std::variant<LeaseGrant, LeaseResult>;

// The answer to a ReportExit that has cost the job a member.
struct ExitAnswer {
  bool without_leave = false;  // it ended with status 0, and had not called Leave
  std::string loss;            // the daemon's text for the loss
};

// The answer to an inquiry's calls. It shares what may be large and goes to many callers, so that
// the service encodes it without a lock.
struct InquiryAnswer {
  std::shared_ptr<const InquiryStatus> status;  // never null
  std::vector<std::shared_ptr<const LauncherReport>> reports;
  std::shared_ptr<const LauncherReport> files_of;  // null if no files are wanted, or there are none
};

// The answer to a call that ends OK; monostate if the response is empty.
using Answer = std::variant<std::monostate, JoinAnswer, CollectiveAnswer, NodeAnswer, LeaseAnswer,
                            InquiryAnswer, ExitAnswer, ReleaseAnswer>;

// The end of a call.
struct Reply {
  WaiterId waiter = 0;
  absl::Status status;
  Answer answer;  // meaningful if the status is OK
};

// The events of an Attach stream. The messages of the same names say what each field means.
struct Attached {
  SessionId session;
  std::vector<uint64_t> standing_tokens;
  bool recovering = false;
};

struct NeedRoster {
  EpochId epoch;
};

struct EpochBroken {
  EpochId epoch;
  std::string reason;
  std::vector<Failure> failures;
  bool may_rejoin = false;
};

struct NeedContribution {
  EpochId epoch;
  GroupName group;
  uint64_t sequence = 0;
};

struct GroupFinished {
  EpochId epoch;
  GroupName group;
  std::string reason;
};

// Digests of groups that all ranks have released (closed), and of groups that all ranks know to be
// closed (settled).
struct GroupsClosed {
  EpochId epoch;
  std::vector<std::string> closed;
  std::vector<std::string> settled;
};

struct MissingMember {
  uint32_t rank = 0;
  std::optional<MemberIdentity> member;
  MemberState state = MemberState::kRunning;
  std::string activity;
};

struct StillWaiting {
  std::optional<EpochId> epoch;
  std::string operation;
  absl::Duration waited;
  std::string text;
  // Members that have not come. Shared by the events to all waiting members; never null.
  std::shared_ptr<const std::vector<MissingMember>> missing;
  // Members that had come to a collective and have stopped waiting. Shared; never null.
  std::shared_ptr<const std::vector<MissingMember>> gave_up =
      std::make_shared<const std::vector<MissingMember>>();
};

struct NewcomersWaiting {
  EpochId epoch;
  uint32_t waiting = 0;
  uint32_t free_places = 0;
};

using Event = std::variant<Attached, EpochBroken, NeedContribution, GroupFinished, StillWaiting,
                           NewcomersWaiting, NeedRoster, GroupsClosed>;

// An event, which may go to many streams.
using SharedEvent = std::shared_ptr<const Event>;

// An event to send on an Attach stream.
struct StreamEvent {
  WaiterId stream = 0;
  SharedEvent event;  // never null
  // Set if the step ends no call of the member, so that this event is the first news the member
  // gets.
  bool urgent = false;
};

// The end of an Attach stream or a store stream, after all that was sent before.
struct StreamEnd {
  WaiterId stream = 0;
  absl::Status status;
};

enum class Severity { kDebug, kInfo, kWarning, kError };

struct LogLine {
  Severity severity = Severity::kInfo;
  std::string text;
  // Set if a launcher prints the same where this log goes. The service then logs the line at info
  // level at most.
  bool logged_by_launcher = false;
};

// A reason for the launchers to look at their ranks, and the job at that time.
struct InquiryCause {
  std::string reason;
  std::shared_ptr<const JobStatus> job;  // never null
};

// The work that the caller must do after a step, in this order within each list, and events before
// ends. Urgent events should go before replies, and the others after them. So every member hears of
// a loss before any member hears of it a second time.
struct Effects {
  std::vector<Reply> replies;
  std::vector<StreamEvent> events;
  std::vector<StoreMessage> store;  // on store streams, in order and before `ends`
  std::vector<StreamEnd> ends;
  std::vector<LogLine> log;
  std::optional<InquiryCause> inquiry;  // for a HangDiagnoser, if there is one
  std::optional<std::string> verdict;   // from a HangDiagnoser, to be put in as a VerdictFound
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_API_EFFECTS_H_
