#include "server/service/unread_answers.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::service {
namespace {

// What gRPC itself keeps for a call.
constexpr uint64_t kBytesPerCall = 4096;

void LetAllGo(std::vector<UnreadAnswers::LetGo> dropped, const absl::Status& why) {
  for (UnreadAnswers::LetGo& let_go : dropped) let_go(why);
}

absl::Status Replaced() {
  return absl::CancelledError("replaced by a later send of the same call");
}

}  // namespace

SendName NameOf(const core::JoinRequest& request) {
  return {request.call.session, "Join", request.call.attempt};
}

SendName NameOf(const core::RejoinRequest& request) {
  return {request.call.session, "Rejoin", request.call.attempt};
}

SendName NameOf(const core::CollectiveRequest& request) {
  return {request.call.session, absl::StrCat("op ", request.sequence, " of ", request.group.name),
          request.call.attempt};
}

// Beside the sender's own call at that number: others wait for this one's answer.
SendName NameOf(const core::NodeCollectiveRequest& request) {
  SendName name = NameOf(request.call);
  name.call.insert(0, "node ");
  return name;
}

SendName NameOf(const core::AcquireLeaseRequest& request) {
  return {request.call.session, absl::StrCat("lease request ", request.request_id),
          request.call.attempt};
}

UnreadAnswers::Session* UnreadAnswers::Find(core::SessionId id) {
  const auto session = sessions_.find(id.counter);
  return session != sessions_.end() && session->second.id == id ? &session->second : nullptr;
}

void UnreadAnswers::Take(Session* session, core::WaiterId id, Dropped* out) {
  const auto entry = session->answers.extract(id);
  if (entry.empty()) return;
  Answer& answer = entry.mapped();
  session->bytes -= answer.bytes;
  out->push_back(std::move(answer.let_go));
  const auto latest = session->latest.find(answer.call);
  if (latest != session->latest.end() && latest->second == id) session->latest.erase(latest);
}

void UnreadAnswers::DropOlderSend(Session* session, const SendName& send, Dropped* dropped) {
  if (session->latest.empty()) return;  // as of nearly all calls
  const auto latest = session->latest.find(send.call);
  if (latest == session->latest.end()) return;
  const core::WaiterId id = latest->second;
  if (session->answers.at(id).attempt < send.attempt) Take(session, id, dropped);
}

void UnreadAnswers::Add(Session* session, core::WaiterId id, Answer answer, Dropped* dropped) {
  const std::string call = answer.call;
  const uint64_t attempt = answer.attempt;
  session->bytes += answer.bytes;
  session->answers[id] = std::move(answer);
  if (call.empty()) return;
  const auto [latest, is_first] = session->latest.emplace(call, id);
  // A later send may have been answered before. Sends under one attempt, which only a client that
  // does not number its sends makes, are not told apart: neither replaces the other.
  if (!is_first && session->answers.at(latest->second).attempt > attempt)
    Take(session, id, dropped);
}

void UnreadAnswers::DropSession(core::SessionId id, Dropped* dropped) {
  const auto entry = sessions_.extract(id.counter);
  if (entry.empty()) return;
  for (auto& [waiter, answer] : entry.mapped().answers) {
    dropped->push_back(std::move(answer.let_go));
  }
}

void UnreadAnswers::SessionStarted(const core::Incarnation& process, core::SessionId session,
                                   core::WaiterId stream, LetGo let_go) {
  Dropped dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Process& state = processes_[process];
    if (session.counter > state.session.counter) {  // else a later one has overtaken it
      DropSession(state.session, &dropped);
      state.session = session;
      sessions_[session.counter] = {session, process};
    }
    while (state.streams.size() > 1) {
      dropped.push_back(std::move(state.streams.extract(state.streams.begin()).mapped()));
    }
    state.streams.emplace(stream, std::move(let_go));
  }
  LetAllGo(std::move(dropped), absl::CancelledError("the process has attached again"));
}

void UnreadAnswers::StreamDone(const core::Incarnation& process, core::WaiterId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto state = processes_.find(process);
  if (state == processes_.end()) return;
  state->second.streams.erase(stream);
  ForgetIfIdle(process);
}

void UnreadAnswers::ForgetIfIdle(const core::Incarnation& process) {
  const auto state = processes_.find(process);
  const auto session = sessions_.find(state->second.session.counter);
  if (!state->second.streams.empty() || !session->second.answers.empty()) return;
  sessions_.erase(session);
  processes_.erase(state);
}

void UnreadAnswers::Arrived(const SendName& send) {
  if (send.call.empty()) return;
  Dropped dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Session* const session = Find(send.session);
    if (session == nullptr) return;
    DropOlderSend(session, send, &dropped);
  }
  LetAllGo(std::move(dropped), Replaced());
}

void UnreadAnswers::Answered(core::WaiterId id, const SendName& send, uint64_t bytes,
                             LetGo let_go) {
  Dropped replaced;
  Dropped oldest;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    Session* const session = Find(send.session);
    if (session == nullptr) return;
    DropOlderSend(session, send, &replaced);
    Add(session, id, {send.call, send.attempt, bytes + kBytesPerCall, std::move(let_go)},
        &replaced);
    DropOldest(session, id, &oldest);
  }
  LetAllGo(std::move(replaced), Replaced());
  LetAllGo(std::move(oldest), absl::UnavailableError("the member does not read its answers"));
}

void UnreadAnswers::DropOldest(Session* session, core::WaiterId spared, Dropped* dropped) const {
  while (session->bytes > limit_ && session->answers.size() > 1) {
    const auto oldest = session->answers.begin();
    Take(session, (oldest->first == spared ? std::next(oldest) : oldest)->first, dropped);
  }
}

void UnreadAnswers::Done(core::WaiterId id, const SendName& send) {
  Dropped done;  // its references go after the lock
  std::lock_guard<std::mutex> lock(mutex_);
  Session* const session = Find(send.session);
  if (session == nullptr) return;
  Take(session, id, &done);
  ForgetIfIdle(session->process);
}

}  // namespace muster::service
