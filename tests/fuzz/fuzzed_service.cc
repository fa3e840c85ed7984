#include "tests/fuzz/fuzzed_service.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/coordinator.h"
#include "server/core/job/node_batches.h"
#include "server/service/conversion/event_conversion.h"
#include "server/service/conversion/request_conversion.h"
#include "server/service/conversion/response_conversion.h"
#include "tests/fuzz/answer_oracle.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/fuzzed_diagnoser.h"
#include "tests/fuzz/fuzzed_options.h"
#include "tests/fuzz/fuzzed_store.h"
#include "tests/fuzz/members.h"
#include "tests/fuzz/message_filler.h"
#include "tests/fuzz/promises/allocated_bytes.h"
#include "tests/fuzz/promises/collective_oracle.h"
#include "tests/fuzz/promises/number_oracle.h"
#include "tests/fuzz/promises/promises.h"
#include "tests/server/journal/tape.h"

namespace muster::fuzz {
namespace {

using core::Coordinator;
using core::WaiterId;

constexpr int kMaxTicks = 10000;

// How long a restarted daemon waits for clients that an earlier one has served.
constexpr absl::Duration kYoungFor = absl::Seconds(10);

// Choices from this one on are steps of the store's clients.
constexpr int kStoreChoices = 240;

// The most that a core with small limits may keep beside payloads.
constexpr size_t kMaxCoreBytes = 512 * 1024;

class FuzzedService : private FuzzedStore::Daemon {
 public:
  explicit FuzzedService(ByteSource* bytes)
      : bytes_(bytes),
        job_(ChooseJob(bytes)),
        options_(job_.options),
        now_(absl::FromUnixSeconds(1700000000)),
        collectives_(job_.commits_on_node),
        numbers_(ProbeOptions()) {
    Check(options_.Validate().ok(), "the harness makes valid options");
    options_.daemon_version = "fuzzed";
    options_.random = [this] { return Draw(); };
    const uint32_t flag = std::max(options_.world_size, options_.max_world_size);
    const uint32_t size = flag != 0 ? flag : 1 + static_cast<uint32_t>(bytes->Below(4));
    // If few groups may exist at a time, members name one after another without end.
    for (uint32_t i = 0; i < size; ++i) {
      members_.emplace_back(i, job_, flag != 0 ? 0 : size, HasSmallLimits());
      const v1::MemberIdentity& process = members_.back().identity();
      store_.Add(members_.back().secret(), process.incarnation(), process.node_id());
    }
    Restart();
  }

  void Run() {
    while (!bytes_->empty()) Step();
    Put(0, core::DrainBegun{"the end"});
    Check(calls_.empty(), "a coordinator that drains leaves no call behind");
    Check(streams_.empty() && !store_.has_streams(),
          "a coordinator that drains leaves no stream behind");
    diagnoser_->Drain(now_);
    EndCore();
  }

 private:
  struct Stream {
    std::string incarnation;
    FuzzedMember* member;
  };

  // Returns the options of a daemon that is only asked whether it accepts a claim.
  core::Options ProbeOptions() const {
    core::Options options = options_;
    options.random = [] { return uint64_t{0}; };
    return options;
  }

  // FuzzedStore::Daemon:
  WaiterId NewId() override { return ++last_id_; }
  core::Time now() const override { return now_; }

  // Draws an epoch's nonce or a session's key. These are numbers that no claim hits by chance.
  uint64_t Draw() {
    const uint64_t number = std::mt19937_64(++draws_)();
    collectives_.Formed(number);
    numbers_.Formed(number);
    return number;
  }

  // Inputs of the corpus depend on these numbers.
  void Step() {
    const uint8_t choice = bytes_->Byte();
    if (choice >= kStoreChoices) {
      // Its deep states are many steps away.
      for (int i = kStoreChoices; i <= choice; ++i) store_.Step();
      return;
    }
    switch (choice % 24) {
      case 0:
      case 1:
        return Attach();
      case 2:
        return Join();
      case 3:
        return Send<v1::BarrierRequest>();
      case 4:
        return Send<v1::BroadcastRequest>();
      case 5:
        return Send<v1::GatherRequest>();
      case 6:
        return Send<v1::AllGatherRequest>();
      case 7:
        return Send<v1::AcquireLeaseRequest>();
      case 8:
        return Send<v1::CompleteLeaseRequest>();
      case 9:
        return Send<v1::AbandonLeaseRequest>();
      case 10:
        return Send<v1::LeaveRequest>();
      case 11:
        return Send<v1::ReportExitRequest>();
      case 12:
        return Send<v1::RejoinRequest>();
      case 13:
        return Send<v1::ReportProcessStateRequest>();
      case 14:
        return Send<v1::RequestStopRequest>();
      case 15:
        return CancelRandomCall();
      case 16:
        return CloseRandomStream();
      case 17:
        return Advance(absl::Milliseconds(bytes_->Bits(2)));
      case 18:
        return ReadStatus();
      case 19:
        return bytes_->OneIn(4) ? Restart() : Repeat();
      case 20:
        if (!bytes_->OneIn(4)) return SendNodeCollective();
        return bytes_->OneIn(2) ? Send<v1::WithdrawArrivalRequest>() : SendRandomRequest();
      case 21:
        diagnoser_->Step(now_, *core_);
        return ForwardVerdict();
      default:
        return StepAllMembers();
    }
  }

  // Sends one of all kinds of requests that the core takes. A new RPC needs no case here.
  void SendRandomRequest() {
    size_t chosen = bytes_->Below(AllRequests::kSize);
    ForEachType(AllRequests(), [&](auto* type) {
      using Request = std::remove_pointer_t<decltype(type)>;
      constexpr bool kIsUnaryStep =
          !Rpc<Request>::kStreams && journal::kKindOf<Request> != journal::INPUT_KIND_UNSPECIFIED;
      if constexpr (kIsUnaryStep) {
        if (chosen == 0) Send<Request>();
      }
      --chosen;
    });
  }

  // Lets all members make an honest step: they attach, join, or make the same call.
  void StepAllMembers() {
    const size_t what = bytes_->Below(8);
    honest_ = true;
    for (sender_ = 0; sender_ < members_.size(); ++sender_) {
      const FuzzedMember& member = members_[sender_];
      !member.attached() ? Attach() : !member.joined() ? Join() : CallCollective(what);
    }
    honest_ = false;
    sender_ = 0;
  }

  void CallCollective(size_t what) {
    switch (what) {
      case 0:
        return Send<v1::BroadcastRequest>();
      case 1:
        return Send<v1::GatherRequest>();
      case 2:
        return Send<v1::AllGatherRequest>();
      case 3:
        return Send<v1::AcquireLeaseRequest>();
      case 4:
        return Send<v1::RejoinRequest>();
      case 5:
        return SendNodeCollective();
      case 6:
        return Send<v1::ReleaseGroupsRequest>();
      default:
        if (job_.commits_on_node && bytes_->OneIn(2)) return Send<v1::ReportCommitsRequest>();
        return Send<v1::BarrierRequest>();
    }
  }
  void SendNodeCollective() { Send<v1::NodeCollectiveRequest>(); }
  void Join() { Send<v1::JoinRequest>(); }

  // Composes a request as it may arrive on the wire. Returns whether it can be parsed.
  template <typename Request>
  bool ComposeRequest(Request* request) {
    const auto write = [&] {
      members_[sender_].Write(bytes_, request);
      Gather(request);
    };
    if (honest_) {
      write();
      return true;
    }
    sender_ = bytes_->Below(members_.size());
    return Compose(bytes_, known_, write, request);
  }

  template <typename Request>
  void Send() {
    Request request;
    if (ComposeRequest(&request)) Deliver(request);
  }

  template <typename Request>
  void Deliver(const Request& request) {
    using Response = ResponseOf<Request>;
    const auto converted = service::FromProto(Request(request));
    if (!converted.ok()) return CheckError(converted.status());
    const WaiterId id = ++last_id_;
    Note(id, *converted);
    calls_.Add(id, [this, request, sender = sender_](const core::Answer& answer) {
      CheckCaller(request);
      const std::optional<Response> response = service::WholeResponse<Response>(answer);
      Check(response.has_value(), "answers can be parsed");
      Learn(&members_[sender], request, *response);
      CheckMessage(*response);
    });
    repeat_ = [this, request, sender = sender_] {
      sender_ = sender;
      Deliver(request);
    };
    const journal::KeptRequest kept = journal::Tape::KeepCopy(request);
    Put(id, *converted, &kept);
  }

  using Session = std::tuple<uint64_t, uint64_t, uint64_t>;
  static Session PartsOf(const v1::SessionId& session) {
    return {session.daemon_instance(), session.counter(), session.key()};
  }
  // Checks that an answered caller has named exactly a session that a daemon has given out.
  void CheckSession(const v1::SessionId& session) {
    Check(sessions_.count(PartsOf(session)) > 0,
          "who does not know a session is not answered in it");
  }
  void CheckCaller(const v1::ReportExitRequest&) {}
  void CheckCaller(const v1::ReportProcessStateRequest&) {}
  template <typename Request>
  auto CheckCaller(const Request& request) -> decltype(request.call(), void()) {
    CheckSession(request.call().session());
  }
  template <typename Request>
  auto CheckCaller(const Request& request) -> decltype(request.context(), void()) {
    CheckSession(request.context().call().session());
  }

  // Adds the members of the sender's node that are about to make the same call.
  void Gather(v1::NodeCollectiveRequest* request) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (i != sender_ && SharesNodeWithSender(i)) members_[i].Add(request);
    }
  }
  // Lets the members of the sender's node know of what it has completed there.
  void Gather(v1::ReportCommitsRequest* report) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (SharesNodeWithSender(i)) members_[i].LearnCommits(*report);
    }
  }
  template <typename Request>
  void Gather(Request*) {}
  bool SharesNodeWithSender(size_t member) const {
    return job_.on_one_node || member % 2 == sender_ % 2;
  }

  // Sends the last request again, as networks sometimes do.
  void Repeat() {
    if (const std::function<void()> again = repeat_) again();
  }

  void Attach() {
    v1::AttachRequest request;
    if (!ComposeRequest(&request)) return;
    // In the other jobs, the oracle relies on it that the daemon believes nobody.
    if (!job_.commits_on_node) request.clear_commits_on_node();
    const auto converted = service::FromProto(v1::AttachRequest(request));
    if (!converted.ok()) return CheckError(converted.status());
    const WaiterId id = ++last_id_;
    streams_[id] = {request.member().incarnation(), &members_[sender_]};
    const journal::KeptRequest kept = journal::Tape::KeepCopy(request);
    Put(id, *converted, &kept);
  }

  void CancelRandomCall() {
    const std::optional<WaiterId> id = calls_.RemoveRandomCall(bytes_);
    if (!id) return;
    collectives_.Cancelled(*id);
    Put(*id, core::CallCancelled());
  }

  void CloseRandomStream() {
    if (streams_.empty()) return;
    const auto stream = std::next(streams_.begin(), bytes_->Byte() % streams_.size());
    const WaiterId id = stream->first;
    stream->second.member->Detach();
    streams_.erase(stream);
    Put(id, core::StreamClosed());
  }

  void Advance(absl::Duration duration) {
    const core::Time end = now_ + duration;
    for (int ticks = 0; NextDeadline() <= end; ++ticks) {
      Check(ticks < kMaxTicks, "a tick at a deadline moves it on");
      now_ = std::max(now_, NextDeadline());
      if (core_->NextDeadline() <= now_) Put(0, core::DeadlineReached());
      if (diagnoser_->NextDeadline() <= now_) diagnoser_->Tick(now_);
      ForwardVerdict();
    }
    now_ = end;
  }
  core::Time NextDeadline() const {
    return std::min(core_->NextDeadline(), diagnoser_->NextDeadline());
  }

  void ReadStatus() {
    v1::GetStatusResponse response;
    service::ToProto(core_->GetStatus(now_), now_, &response);
    CheckMessage(response);
  }

  // Kills the daemon and starts another one: every call and stream has ended.
  void Restart() {
    EndCore();
    calls_.clear();
    streams_.clear();
    store_.NoteDaemonKilled();
    collectives_.Restart();
    numbers_.Restart();
    for (FuzzedMember& member : members_) member.Detach();
    ++options_.instance;
    tape_ = std::make_unique<journal::Tape>();
    options_.store.young_until = core_runs_ == 0 ? absl::InfinitePast() : now_ + kYoungFor;
    ++core_runs_;
    core::Options options = tape_->Options(options_, now_);
    options.wants_inquiry = [this](core::Time now, core::JobState state) {
      return diagnoser_->MayBegin(now, state);
    };
    core_ = std::make_unique<Coordinator>(std::move(options));
    diagnoser_ = std::make_unique<FuzzedDiagnoser>(bytes_, core_->options(), known_, members_);
  }

  // Ends the core. Checks that the memory that it frees is bounded.
  void EndCore() {
    if (tape_ != nullptr && store_.replays()) {
      const std::string difference = tape_->Replay();
      CheckNoProblem(difference);
    }
    diagnoser_.reset();  // it has a limit of its own
    const size_t before = AllocatedBytes();
    core_.reset();
    const size_t kept = before - std::min(before, AllocatedBytes());
    if (!HasSmallLimits()) return;
    Check(kept <= options_.limits.max_held_bytes + kMaxCoreBytes,
          absl::StrCat("a daemon with small limits does not keep ", kept, " bytes"));
  }

  // Records an input and passes it to the core. All inputs go through here.
  void Put(WaiterId id, const core::Input& input) { Put(id, input, nullptr); }
  void Put(WaiterId id, const core::Input& input, const journal::KeptRequest* kept) override {
    core::Effects effects = core_->Step(now_, id, input);
    tape_->Add({id, input, kept}, now_, effects);
    Take(std::move(effects));
    CheckGroups();
  }

  // Checks that there is room for groups, however many the callers have named. As many groups as
  // may be in use may be closed and wait for acknowledgements, and as many may be claimed as
  // closed.
  void CheckGroups() {
    if (!HasSmallLimits()) return;
    Check(core_->Measure(now_).groups <= 3 * options_.limits.max_groups,
          "groups that members have released are forgotten");
  }
  bool HasSmallLimits() const { return options_.limits.max_groups == SmallLimits().max_groups; }

  void ForwardVerdict() {
    const std::optional<std::string> verdict = diagnoser_->TakeVerdict();
    if (!verdict) return;
    Put(0, core::VerdictFound{*verdict});
  }

  void Take(core::Effects effects) {
    const std::string problem = collectives_.Answered(WithParts(effects.replies));
    CheckNoProblem(problem);
    for (const core::LogLine& line : effects.log) CheckLogLine(line.text);
    if (effects.inquiry) diagnoser_->Begin(now_, *effects.inquiry);
    for (const core::StreamEvent& event : effects.events) TakeEvent(event);
    for (const core::Reply& reply : effects.replies) calls_.Take(reply);
    for (const core::StoreMessage& message : effects.store) store_.Take(message);
    for (const core::StreamEnd& end : effects.ends) {
      if (store_.TakeEnd(end)) continue;
      Check(streams_.erase(end.stream) == 1, "a stream is ended once, and only while it is open");
      if (!end.status.ok()) CheckError(end.status);
    }
  }

  // Adds the replies that the completed parts of a batch would have got for calls of their own.
  static std::vector<core::Reply> WithParts(std::vector<core::Reply> replies) {
    for (size_t i = 0, calls = replies.size(); i < calls; ++i) {
      const auto* node = std::get_if<core::NodeAnswer>(&replies[i].answer);
      if (node == nullptr) continue;
      const WaiterId id = replies[i].waiter;
      for (const uint32_t part : std::vector<uint32_t>(node->completed)) {
        replies.push_back({core::NodeBatches::PartId(id, part), absl::OkStatus(), {}});
      }
    }
    return replies;
  }

  void TakeEvent(const core::StreamEvent& event) {
    const auto stream = streams_.find(event.stream);
    Check(stream != streams_.end(), "events go to open streams");
    const v1::AttachResponse response = service::ToProto(*event.event, now_, options_);
    CheckMessage(response);
    if (response.has_need_roster()) stream->second.member->Learn(response.need_roster());
    if (response.has_groups_closed()) stream->second.member->Learn(response.groups_closed());
    if (response.has_epoch_broken()) stream->second.member->Learn(response.epoch_broken());
    if (response.has_attached()) LearnSession(stream->second, response.attached());
  }

  void LearnSession(const Stream& stream, const v1::Attached& attached) {
    stream.member->Learn(attached);
    known_.sessions.push_back(attached.session());
    sessions_.insert(PartsOf(attached.session()));
    collectives_.LearnSession(attached.session().counter(), stream.incarnation);
    incarnations_[attached.session().counter()] = stream.incarnation;
  }

  void Note(WaiterId id, const core::CollectiveRequest& request) { collectives_.Sent(id, request); }
  // Notes the parts of a call. Each may count for as long as the daemon lives, even after the call
  // has ended.
  void Note(WaiterId id, const core::NodeCollectiveRequest& request) {
    for (size_t i = 0; i < request.parts.size(); ++i) {
      core::CollectiveRequest part = request.call;
      part.call.session = request.parts[i].session;
      collectives_.Sent(core::NodeBatches::PartId(id, i), part, /*names=*/false);
    }
  }
  template <typename Request>
  void Note(WaiterId, const Request&) {}

  void LearnPlace(FuzzedMember* member, const v1::JoinResponse& place) {
    member->Learn(place);
    known_.epochs.push_back(place.epoch());
    known_.places.push_back(place);
    collectives_.LearnRoster(place);
    const std::string wrong = numbers_.CheckEpoch(now_, place);
    CheckNoProblem(wrong);
  }
  void Learn(FuzzedMember* member, const v1::JoinRequest&, const v1::JoinResponse& response) {
    LearnPlace(member, response);
  }
  void Learn(FuzzedMember* member, const v1::RejoinRequest&, const v1::RejoinResponse& response) {
    v1::JoinResponse place;
    *place.mutable_epoch() = response.epoch();
    place.set_rank(response.rank());
    *place.mutable_roster() = response.roster();
    LearnPlace(member, place);
  }
  void Learn(FuzzedMember* member, const v1::AcquireLeaseRequest& request,
             const v1::AcquireLeaseResponse& response) {
    if (!response.has_granted()) return;
    const uint64_t token = response.granted().token();
    known_.tokens.push_back(token);
    member->Learn(request, response);
    const std::string& requester = incarnations_[request.call().session().counter()];
    const std::string wrong = numbers_.CheckGrant(now_, {requester, request.request_id()}, token);
    CheckNoProblem(wrong);
  }
  void Learn(FuzzedMember*, const v1::NodeCollectiveRequest& request,
             const v1::NodeCollectiveResponse& response) {
    Check(response.resend() == (response.completed_size() == 0), "parts complete, or call again");
    for (const uint32_t index : response.completed()) {
      Check(index < static_cast<uint32_t>(request.parts_size()), "parts that were sent complete");
      CheckSession(request.parts(static_cast<int>(index)).session());
      for (FuzzedMember& member : members_) {
        if (member.Has(request.parts(static_cast<int>(index)).session())) {
          member.Learn(request, response);
        }
      }
    }
  }
  template <typename Request, typename Response>
  void Learn(FuzzedMember* member, const Request& request, const Response& response) {
    member->Learn(request, response);
  }

  ByteSource* const bytes_;
  const FuzzedJob job_;
  core::Options options_;
  core::Time now_;
  std::unique_ptr<journal::Tape> tape_;  // of the core's inputs
  std::unique_ptr<Coordinator> core_;
  std::unique_ptr<FuzzedDiagnoser> diagnoser_;  // beside the core
  WaiterId last_id_ = 0;
  AnswerOracle calls_;
  std::map<WaiterId, Stream> streams_;
  std::function<void()> repeat_;
  Knowledge known_;
  FuzzedStore store_{bytes_, &known_, this};
  int core_runs_ = 0;
  std::vector<FuzzedMember> members_;
  size_t sender_ = 0;  // index of the member that sends
  bool honest_ = false;
  uint64_t draws_ = 0;
  std::set<Session> sessions_;                    // of all daemons
  std::map<uint64_t, std::string> incarnations_;  // by session
  CollectiveOracle collectives_;
  NumberOracle numbers_;
};

}  // namespace

void RunFuzzedSchedule(const uint8_t* data, size_t size) {
  ByteSource bytes(data, size);
  FuzzedService(&bytes).Run();
}

}  // namespace muster::fuzz
