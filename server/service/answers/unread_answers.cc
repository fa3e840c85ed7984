#include "server/service/answers/unread_answers.h"

#include <iterator>
#include <utility>

namespace muster::service {
namespace {

// The memory that gRPC uses for a call, in addition to the answer.
constexpr uint64_t kBytesPerCall = 4096;

constexpr char kReplaced[] = "replaced by a later send of the same call";

}  // namespace

SendName NameOf(const core::JoinRequest& request) {
  return {request.call.session, {CallName::Kind::kJoin}, request.call.attempt};
}

SendName NameOf(const core::RejoinRequest& request) {
  return {request.call.session, {CallName::Kind::kRejoin}, request.call.attempt};
}

SendName NameOf(const core::CollectiveRequest& request) {
  return {request.call.session,
          {CallName::Kind::kCollective, request.sequence, request.group.name},
          request.call.attempt};
}

// Gives the NodeCollective a kind of its own. It must not replace the sender's own call with the
// same sequence number, because other ranks wait for its answer.
SendName NameOf(const core::NodeCollectiveRequest& request) {
  SendName name = NameOf(request.call);
  name.call.kind = CallName::Kind::kNodeCollective;
  return name;
}

SendName NameOf(const core::AcquireLeaseRequest& request) {
  return {request.call.session, {CallName::Kind::kLease, request.request_id}, request.call.attempt};
}

void UnreadAnswers::LetAllGo(Dropped dropped, absl::StatusCode code, const char* why) {
  let_go_ += dropped.size();
  for (LetGo& let_go : dropped) let_go(absl::Status(code, why));
}

UnreadAnswers::Process* UnreadAnswers::Find(core::SessionId session) {
  const auto found = sessions_.find(session.counter);
  return found != sessions_.end() && found->second->session == session ? found->second : nullptr;
}

void UnreadAnswers::Erase(Process* process, Answers::iterator answer) {
  process->bytes -= answer->second.bytes;
  const auto latest = process->latest.find(answer->second.call);
  if (latest != process->latest.end() && latest->second == answer->first) {
    process->latest.erase(latest);
  }
  process->answers.erase(answer);
}

void UnreadAnswers::Drop(Process* process, Answers::iterator answer, Dropped* dropped) {
  dropped->push_back(answer->second.rpc->ToLetGo());
  Erase(process, answer);
}

void UnreadAnswers::DropOlderSend(Process* process, const SendName& send, Dropped* dropped) {
  if (process->latest.empty()) return;  // the usual case
  const auto latest = process->latest.find(send.call);
  if (latest == process->latest.end()) return;
  const auto answer = process->answers.find(latest->second);
  if (answer->second.attempt < send.attempt) Drop(process, answer, dropped);
}

void UnreadAnswers::Add(Process* process, core::WaiterId id, Answer answer, Dropped* dropped) {
  process->bytes += answer.bytes;
  const auto added = process->answers.emplace(id, std::move(answer)).first;
  const auto& [call, attempt, bytes, rpc] = added->second;
  if (call.kind == CallName::Kind::kOther) return;
  const auto [latest, is_first] = process->latest.emplace(call, id);
  // A later send may have been answered first; then this answer is dropped. Sends with equal
  // attempt numbers do not replace each other. Only a client that does not number its sends makes
  // them.
  if (!is_first && process->answers.at(latest->second).attempt > attempt) {
    Drop(process, added, dropped);
  }
}

void UnreadAnswers::StartSession(Process* process, core::SessionId session, Dropped* dropped) {
  while (!process->answers.empty()) Drop(process, process->answers.begin(), dropped);
  sessions_.erase(process->session.counter);
  process->session = session;
  sessions_[session.counter] = process;
}

void UnreadAnswers::SessionStarted(const core::Incarnation& process, core::SessionId session,
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
      dropped.push_back(streams.extract(streams.begin()).mapped()->ToLetGo());
    }
    streams.emplace(stream, rpc);
  }
  LetAllGo(std::move(dropped), absl::StatusCode::kCancelled, "the process has attached again");
}

void UnreadAnswers::StreamDone(const core::Incarnation& process, core::WaiterId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto known = processes_.find(process);
  if (known == processes_.end()) return;
  known->second->streams.erase(stream);
  ForgetIfIdle(known->second.get());
}

void UnreadAnswers::ForgetIfIdle(Process* process) {
  if (!process->streams.empty() || !process->answers.empty()) return;
  sessions_.erase(process->session.counter);
  processes_.erase(core::Incarnation(process->id));
}

void UnreadAnswers::Arrived(const SendName& send) {
  if (send.call.kind == CallName::Kind::kOther) return;
  Dropped dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Process* const process = Find(send.session);
    if (process == nullptr) return;
    DropOlderSend(process, send, &dropped);
  }
  LetAllGo(std::move(dropped), absl::StatusCode::kCancelled, kReplaced);
}

void UnreadAnswers::Answered(core::WaiterId id, const SendName& send, uint64_t bytes, Rpc* rpc) {
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
  LetAllGo(std::move(replaced), absl::StatusCode::kCancelled, kReplaced);
  LetAllGo(std::move(oldest), absl::StatusCode::kUnavailable,
           "the member does not read its answers");
}

void UnreadAnswers::DropOldest(Process* process, core::WaiterId spared, Dropped* dropped) const {
  while (process->bytes > limit_ && process->answers.size() > 1) {
    const auto oldest = process->answers.begin();
    Drop(process, oldest->first == spared ? std::next(oldest) : oldest, dropped);
  }
}

void UnreadAnswers::Done(core::WaiterId id, const SendName& send) {
  std::lock_guard<std::mutex> lock(mutex_);
  Process* const process = Find(send.session);
  if (process == nullptr) return;
  const auto answer = process->answers.find(id);
  if (answer != process->answers.end()) Erase(process, answer);
  ForgetIfIdle(process);
}

}  // namespace muster::service
