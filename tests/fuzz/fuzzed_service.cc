#include "tests/fuzz/fuzzed_service.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "muster/v1/coordinator.pb.h"
#include "server/core/coordinator.h"
#include "server/service/event_conversion.h"
#include "server/service/request_conversion.h"
#include "server/service/response_conversion.h"
#include "tests/fuzz/byte_source.h"
#include "tests/fuzz/message_filler.h"

namespace muster::fuzz {
namespace {

using core::Coordinator;
using core::WaiterId;
using google::protobuf::Message;

// gRPC refuses to send more metadata than 8 KiB, the status message included.
constexpr size_t kMostMessageBytes = 7 * 1024;
constexpr int kMostTicks = 10000;

[[noreturn]] void Broken(const std::string& promise) {
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

void Check(bool holds, const std::string& promise) {
  if (!holds) Broken(promise);
}

core::Options ChooseOptions(ByteSource* bytes) {
  core::Options options;
  options.job_id = "job";
  options.random = [nonce = uint64_t{0}]() mutable { return ++nonce; };
  options.world_size = static_cast<uint32_t>(bytes->Below(4));
  if (bytes->OneIn(2)) {
    options.min_world_size = 1 + static_cast<uint32_t>(bytes->Below(2));
    options.max_world_size = options.min_world_size + static_cast<uint32_t>(bytes->Below(3));
    options.world_size = 0;
  }
  if (bytes->OneIn(4)) options.limits.max_members = 4;
  if (bytes->OneIn(4)) options.limits.max_payload_bytes = 16;
  return options;
}

class FuzzedService {
 public:
  explicit FuzzedService(ByteSource* bytes)
      : bytes_(bytes), options_(ChooseOptions(bytes)), now_(absl::FromUnixSeconds(1700000000)) {
    Check(options_.Validate().ok(), "the harness makes valid options");
    Restart();
  }

  void Run() {
    while (!bytes_->empty()) Step();
    Take(core_->Drain(now_, "the end"));
    Check(calls_.empty(), "a coordinator that drains leaves no call behind");
    Check(streams_.empty(), "a coordinator that drains leaves no stream behind");
  }

 private:
  void Step() {
    switch (bytes_->Below(20)) {
      case 0:
      case 1:
        return Attach();
      case 2:
        return Send<v1::JoinRequest, v1::JoinResponse>(&Coordinator::Join);
      case 3:
        return Send<v1::BarrierRequest, v1::BarrierResponse>(&Coordinator::Collective);
      case 4:
        return Send<v1::BroadcastRequest, v1::BroadcastResponse>(&Coordinator::Collective);
      case 5:
        return Send<v1::GatherRequest, v1::GatherResponse>(&Coordinator::Collective);
      case 6:
        return Send<v1::AllGatherRequest, v1::AllGatherResponse>(&Coordinator::Collective);
      case 7:
        return Send<v1::AcquireLeaseRequest, v1::AcquireLeaseResponse>(&Coordinator::AcquireLease);
      case 8:
        return Send<v1::CompleteLeaseRequest, v1::CompleteLeaseResponse>(
            &Coordinator::CompleteLease);
      case 9:
        return Send<v1::AbandonLeaseRequest, v1::AbandonLeaseResponse>(&Coordinator::AbandonLease);
      case 10:
        return Send<v1::LeaveRequest, v1::LeaveResponse>(&Coordinator::Leave);
      case 11:
        return Send<v1::ReportExitRequest, v1::ReportExitResponse>(&Coordinator::ReportExit);
      case 12:
        return Send<v1::RejoinRequest, v1::RejoinResponse>(&Coordinator::Rejoin);
      case 13:
        return Send<v1::ReportProcessStateRequest, v1::ReportProcessStateResponse>(
            &Coordinator::ReportProcessState);
      case 14:
        return Send<v1::RequestStopRequest, v1::RequestStopResponse>(&Coordinator::RequestStop);
      case 15:
        return CancelOne();
      case 16:
        return CloseOne();
      case 17:
        return Advance(absl::Milliseconds(bytes_->Bits(2)));
      case 18:
        return ReadStatus();
      case 19:
        return bytes_->OneIn(4) ? Restart() : Repeat();
    }
  }

  // A request as a member may have put it on the wire: made field by field, or that with a byte
  // changed. Whether it could be parsed.
  bool Compose(Message* request) {
    Fill(bytes_, known_, request);
    if (!bytes_->OneIn(16)) return true;
    std::string wire = request->SerializeAsString();
    if (wire.empty()) return true;
    wire[bytes_->Bits(2) % wire.size()] = static_cast<char>(bytes_->Byte());
    return request->ParseFromString(wire);
  }

  template <typename Request, typename Response, typename CoreRequest>
  void Send(core::Effects (Coordinator::*step)(core::Time, WaiterId, const CoreRequest&)) {
    Request request;
    if (Compose(&request)) Deliver<Response>(request, step);
  }

  template <typename Response, typename Request, typename CoreRequest>
  void Deliver(const Request& request,
               core::Effects (Coordinator::*step)(core::Time, WaiterId, const CoreRequest&)) {
    const absl::StatusOr<CoreRequest> converted = service::FromProto(request);
    if (!converted.ok()) return CheckError(converted.status());
    const WaiterId id = ++last_id_;
    calls_[id] = [this](const core::Answer& answer) {
      Response response;
      service::ToProto(answer, &response);
      Learn(response);
      Check(Response().ParseFromString(response.SerializeAsString()), "answers can be parsed");
    };
    repeat_ = [this, request, step] { Deliver<Response>(request, step); };
    Take((core_.get()->*step)(now_, id, *converted));
  }

  // Networks duplicate: the very same request once more.
  void Repeat() {
    if (const std::function<void()> again = repeat_) again();
  }

  void Attach() {
    v1::AttachRequest request;
    if (!Compose(&request)) return;
    const auto converted = service::FromProto(request);
    if (!converted.ok()) return CheckError(converted.status());
    const WaiterId id = ++last_id_;
    streams_.insert(id);
    Take(core_->Attach(now_, id, *converted));
  }

  void CancelOne() {
    if (calls_.empty()) return;
    const auto call = std::next(calls_.begin(), bytes_->Byte() % calls_.size());
    const WaiterId id = call->first;
    calls_.erase(call);
    Take(core_->Cancel(now_, id));
  }

  void CloseOne() {
    if (streams_.empty()) return;
    const auto stream = std::next(streams_.begin(), bytes_->Byte() % streams_.size());
    const WaiterId id = *stream;
    streams_.erase(stream);
    Take(core_->StreamClosed(now_, id));
  }

  void Advance(absl::Duration duration) {
    const core::Time end = now_ + duration;
    for (int ticks = 0; core_->NextDeadline() <= end; ++ticks) {
      Check(ticks < kMostTicks, "a tick at a deadline moves it on");
      now_ = std::max(now_, core_->NextDeadline());
      Take(core_->Tick(now_));
    }
    now_ = end;
  }

  void ReadStatus() {
    v1::GetStatusResponse response;
    service::ToProto(core_->GetStatus(now_), now_, &response);
    Check(v1::GetStatusResponse().ParseFromString(response.SerializeAsString()),
          "the status can be parsed");
  }

  // A kill -9 of the daemon and a new one: every call and stream has gone.
  void Restart() {
    calls_.clear();
    streams_.clear();
    ++options_.instance;
    core_ = std::make_unique<Coordinator>(options_);
  }

  void Take(core::Effects effects) {
    for (const core::StreamEvent& event : effects.events) TakeEvent(event);
    for (const core::Reply& reply : effects.replies) TakeReply(reply);
    for (const core::StreamEnd& end : effects.ends) {
      Check(streams_.erase(end.stream) == 1, "a stream is ended once, and only while it is open");
      if (!end.status.ok()) CheckError(end.status);
    }
  }

  void TakeEvent(const core::StreamEvent& event) {
    Check(streams_.count(event.stream) == 1, "events go to open streams");
    const v1::AttachResponse response = service::ToProto(event.event, now_, options_);
    if (response.has_attached()) known_.sessions.push_back(response.attached().session());
  }

  void TakeReply(const core::Reply& reply) {
    const auto call = calls_.find(reply.waiter);
    Check(call != calls_.end(), "a call is answered once, and only while it waits");
    if (reply.status.ok()) {
      call->second(reply.answer);
    } else {
      CheckError(reply.status);
    }
    calls_.erase(call);
  }

  void CheckError(const absl::Status& error) {
    Check(!error.message().empty(), "every error says something");
    Check(error.message().size() <= kMostMessageBytes,
          absl::StrCat("an error fits into gRPC's metadata; this has ", error.message().size(),
                       " bytes: ", error.message()));
  }

  void Learn(const v1::JoinResponse& response) {
    known_.epochs.push_back(response.epoch());
    known_.places.push_back(response);
  }
  void Learn(const v1::RejoinResponse& response) {
    v1::JoinResponse place;
    *place.mutable_epoch() = response.epoch();
    place.set_rank(response.rank());
    *place.mutable_roster() = response.roster();
    Learn(place);
  }
  void Learn(const v1::AcquireLeaseResponse& response) {
    if (response.has_granted()) known_.tokens.push_back(response.granted().token());
  }
  void Learn(const Message&) {}

  ByteSource* const bytes_;
  core::Options options_;
  core::Time now_;
  std::unique_ptr<Coordinator> core_;
  WaiterId last_id_ = 0;
  std::map<WaiterId, std::function<void(const core::Answer&)>> calls_;
  std::set<WaiterId> streams_;
  std::function<void()> repeat_;
  Knowledge known_;
};

}  // namespace

void RunFuzzedSchedule(const uint8_t* data, size_t size) {
  ByteSource bytes(data, size);
  FuzzedService(&bytes).Run();
}

}  // namespace muster::fuzz
