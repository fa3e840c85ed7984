#include "server/service/answers/unread_answer_limiter.h"

#include <iterator>
#include <utility>

namespace muster::service {
namespace {

// The memory that gRPC uses for a call, in addition to the answer.
constexpr uint64_t kBytesPerCall = 4096;

constexpr char kReplaced[] = "replaced by a later send of the same call";

}  // namespace

SendKey SendKeyOf(const core::JoinRequest& request) {
  return {request.call.session, {CallKey::Kind::kJoin}, request.call.attempt};
}

SendKey SendKeyOf(const core::RejoinRequest& request) {
  return {request.call.session, {CallKey::Kind::kRejoin}, request.call.attempt};
}

SendKey SendKeyOf(const core::CollectiveRequest& request) {
  return {request.call.session,
          {CallKey::Kind::kCollective, request.sequence, request.group.name},
          request.call.attempt};
}

// Gives the NodeCollective a kind of its own. It must not replace the sender's own call with the
// same sequence number, because other ranks wait for its answer.
SendKey SendKeyOf(const core::NodeCollectiveRequest& request) {
  SendKey name = SendKeyOf(request.call);
  name.call.kind = CallKey::Kind::kNodeCollective;
  return name;
}

SendKey SendKeyOf(const core::AcquireLeaseRequest& request) {
  return {request.call.session, {CallKey::Kind::kLease, request.request_id}, request.call.attempt};
}

void UnreadAnswerLimiter::ResetAll(Dropped dropped, absl::StatusCode code, const char* why) {
  dropped_ += dropped.size();
  for (StreamReset& reset : dropped) reset(absl::Status(code, why));
}

UnreadAnswerLimiter::Process* UnreadAnswerLimiter::Find(core::SessionId session) {
  const auto found = sessions_.find(session.counter);
  return found != sessions_.end() && found->second->session == session ? found->second : nullptr;
}

void UnreadAnswerLimiter::Erase(Process* process, Answers::iterator answer) {
  process->bytes -= answer->second.bytes;
  const auto latest = process->latest.find(answer->second.call);
  if (latest != process->latest.end() && latest->second == answer->first) {
    process->latest.erase(latest);
  }
  process->answers.erase(answer);
}

void UnreadAnswerLimiter::Drop(Process* process, Answers::iterator answer, Dropped* dropped) {
  dropped->push_back(answer->second.rpc->PrepareReset());
  Erase(process, answer);
}

void UnreadAnswerLimiter::DropOlderSend(Process* process, const SendKey& send, Dropped* dropped) {
  if (process->latest.empty()) return;  // the usual case
  const auto latest = process->latest.find(send.call);
  if (latest == process->latest.end()) return;
  const auto answer = process->answers.find(latest->second);
  if (answer->second.attempt < send.attempt) Drop(process, answer, dropped);
}

void UnreadAnswerLimiter::Add(Process* process, core::WaiterId id, Answer answer,
                              Dropped* dropped) {
  process->bytes += answer.bytes;
  const auto added = process->answers.emplace(id, std::move(answer)).first;
  const auto& [call, attempt, bytes, rpc] = added->second;
  if (call.kind == CallKey::Kind::kOther) return;
  const auto [latest, is_first] = process->latest.emplace(call, id);
  // A later send may have been answered first; then this answer is dropped. Sends with equal
  // attempt numbers do not replace each other. Only a client that does not number its sends makes
  // them.
  if (!is_first && process->answers.at(latest->second).attempt > attempt) {
    Drop(process, added, dropped);
  }
}

void UnreadAnswerLimiter::StartSession(Process* process, core::SessionId session,
                                       Dropped* dropped) {
  while (!process->answers.empty()) Drop(process, process->answers.begin(), dropped);
  sessions_.erase(process->session.counter);
  process->session = session;
  sessions_[session.counter] = process;
}

void UnreadAnswerLimiter::SessionStarted(const core::Incarnation& process, core::SessionId session,
                                         core::WaiterId stream, Rpc* rpc) {
  Dropped dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Process>& known = processes_[process];
    if (known == nullptr) known = std::make_unique<Process>(process);
    // Otherwise a later session has overtaken this one.
    if (session.counter > known->session.counter) StartSession(known.get(), session, &dropped);
    auto& streams = known->streams;
    while (streams.size() > 1) {
      dropped.push_back(streams.extract(streams.begin()).mapped()->PrepareReset());
    }
    streams.emplace(stream, rpc);
  }
  ResetAll(std::move(dropped), absl::StatusCode::kCancelled, "the process has attached again");
}

void UnreadAnswerLimiter::StreamDone(const core::Incarnation& process, core::WaiterId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = processes_.find(process);
  if (known == processes_.end()) return;
  known->second->streams.erase(stream);
  ForgetIfIdle(known->second.get());
}

void UnreadAnswerLimiter::ForgetIfIdle(Process* process) {
  if (!process->streams.empty() || !process->answers.empty()) return;
  sessions_.erase(process->session.counter);
  processes_.erase(core::Incarnation(process->id));
}

void UnreadAnswerLimiter::Arrived(const SendKey& send) {
  if (send.call.kind == CallKey::Kind::kOther) return;
  Dropped dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Process* const process = Find(send.session);
    if (process == nullptr) return;
    DropOlderSend(process, send, &dropped);
  }
  ResetAll(std::move(dropped), absl::StatusCode::kCancelled, kReplaced);
}

void UnreadAnswerLimiter::Answered(core::WaiterId id, const SendKey& send, uint64_t bytes,
                                   Rpc* rpc) {
  Dropped replaced;
  Dropped oldest;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Process* const process = Find(send.session);
    if (process == nullptr) return;
    DropOlderSend(process, send, &replaced);
    Add(process, id, {send.call, send.attempt, bytes + kBytesPerCall, rpc}, &replaced);
    DropOldest(process, id, &oldest);
  }
  ResetAll(std::move(replaced), absl::StatusCode::kCancelled, kReplaced);
  ResetAll(std::move(oldest), absl::StatusCode::kUnavailable,
           "the member does not read its answers");
}

void UnreadAnswerLimiter::DropOldest(Process* process, core::WaiterId exempt,
                                     Dropped* dropped) const {
  while (process->bytes > limit_ && process->answers.size() > 1) {
    const auto oldest = process->answers.begin();
    Drop(process, oldest->first == exempt ? std::next(oldest) : oldest, dropped);
  }
}

void UnreadAnswerLimiter::Done(core::WaiterId id, const SendKey& send) {
  std::lock_guard<std::mutex> lock(mutex_);
  Process* const process = Find(send.session);
  if (process == nullptr) return;
  const auto answer = process->answers.find(id);
  if (answer != process->answers.end()) Erase(process, answer);
  ForgetIfIdle(process);
}

}  // namespace muster::service
