#ifndef MUSTER_SERVER_CORE_EFFECTS_H_
#define MUSTER_SERVER_CORE_EFFECTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/job_status.h"
#include "server/core/observation.h"
#include "server/core/vocabulary.h"

namespace muster::core {

// Where the caller keeps the encoding of what many answers share, so that it is made once: they all
// get the same slot, which goes with what they share. The core never looks into it.
struct EncodingSlot {
  std::shared_ptr<const void> encoding;
};

struct JoinAnswer {
  EpochId epoch;
  uint32_t rank = 0;
  std::shared_ptr<const Roster> roster;
  std::shared_ptr<EncodingSlot> encoding = nullptr;  // of the roster; may be null
  JobHistory history = {};
};

// kBarrier: none; kBroadcast: one; kGather: one per rank at the root, else none; kAllGather: one
// per rank.
struct CollectiveAnswer {
  std::shared_ptr<const std::vector<Bytes>> payloads;  // never null
  bool stop_requested = false;
  std::shared_ptr<EncodingSlot> encoding = nullptr;  // of the payloads; may be null
};

// Of a NodeCollective: what the completed parts are answered with, as a CollectiveAnswer; none: the
// members send their own calls.
struct NodeAnswer {
  std::vector<uint32_t> completed;  // indices of parts, growing
  CollectiveAnswer answer;          // where there are any
};

struct LeaseGrant {
  uint64_t token = 0;
};

// Of a ReleaseGroups: digests of those groups that the coordinator does not know.
struct ReleaseAnswer {
  std::vector<std::string> settled;
};

using LeaseAnswer = std::variant<LeaseGrant, LeaseResult>;

// Of a ReportExit that has cost the job a member.
struct ExitAnswer {
  bool without_leave = false;  // it ended with status 0, and had not called Leave
  std::string loss;            // how the daemon tells of it
};

// Shares what may be large and goes to many: who writes the answer does so without any lock.
struct InquiryAnswer {
  std::shared_ptr<const InquiryStatus> status;  // never null
  std::vector<std::shared_ptr<const LauncherReport>> reports;
  std::shared_ptr<const LauncherReport> files_of;  // null: no files are wanted, or there are none
};

// What a call that ends OK is answered with; monostate where the response is empty.
using Answer = std::variant<std::monostate, JoinAnswer, CollectiveAnswer, NodeAnswer, LeaseAnswer,
                            InquiryAnswer, ExitAnswer, ReleaseAnswer>;

// Ends a call.
struct Reply {
  WaiterId waiter = 0;
  absl::Status status;
  Answer answer;  // where the status is OK
};

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

// Digests of groups that all ranks have let go, and of those that all ranks know to be so.
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
  // Shared by the events to all who wait; never null.
  std::shared_ptr<const std::vector<MissingMember>> missing;  // have not come
  // Those who had come to a collective and have stopped waiting. Shared, and never null.
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

// One event may go to many streams.
using SharedEvent = std::shared_ptr<const Event>;

// Sends an event on an Attach stream.
struct StreamEvent {
  WaiterId stream = 0;
  SharedEvent event;  // never null
  // Its member has no call that the same step ends: this is the first that it hears of it.
  bool urgent = false;
};

// Ends an Attach stream, after the events sent before.
struct StreamEnd {
  WaiterId stream = 0;
  absl::Status status;
};

enum class Severity { kDebug, kInfo, kWarning, kError };

struct LogLine {
  Severity severity = Severity::kInfo;
  std::string text;
  // A launcher tells of the same where the log goes too: there it is for those who ask for more.
  bool told = false;
};

// Why the launchers had better look at their ranks, and the job as it was then.
struct InquiryCause {
  std::string reason;
  std::shared_ptr<const JobStatus> job;  // never null
};

// What the caller must do after a step, in this order within each list, and events before ends.
// Urgent events had better go first, and the others last: so everybody hears of a loss before
// anybody hears of it twice.
struct Effects {
  std::vector<Reply> replies;
  std::vector<StreamEvent> events;
  std::vector<StreamEnd> ends;
  std::vector<LogLine> log;
  std::optional<InquiryCause> inquiry;  // for an InquiryDesk, where there is one
  std::optional<std::string> verdict;   // an InquiryDesk's: for Coordinator::NoteVerdict()
};

}  // namespace muster::core

#endif  // MUSTER_SERVER_CORE_EFFECTS_H_
