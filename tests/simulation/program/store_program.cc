#include "tests/simulation/program/store_program.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::simulation {
namespace {

// Operations at a time.
constexpr int kLanes = 2;
// Of a pop that does not reach the daemon.
constexpr int kMostRetries = 50;

v1::StoreOperation GetOf(const std::string& key) {
  v1::StoreOperation operation;
  operation.mutable_get()->set_key(key);
  return operation;
}

v1::StoreOperation BarrierOf(const std::string& key, uint64_t count) {
  v1::StoreOperation operation;
  operation.mutable_barrier()->set_key(key);
  operation.mutable_barrier()->set_count(count);
  return operation;
}

}  // namespace

StoreProgram::StoreProgram(ProgramState* program_state, StoreClient* client,
                           std::function<void()> on_done)
    : program_state_(*program_state),
      client_(*client),
      on_done_(std::move(on_done)),
      random_(program_state->setting->seed,
              absl::StrCat("store program ", program_state->process->id())),
      steps_(10 + static_cast<int>(random_.Pick(30))) {}

void StoreProgram::Start() {
  for (int lane = 0; lane < kLanes; ++lane) Next();
}

// Goes on with the next operation of a lane, after a while of computing.
void StoreProgram::Next() {
  if (done_) return;
  if (steps_ == 0) {
    if (open_ == 0) MeetAll();
    return;
  }
  --steps_;
  ++open_;
  const absl::Duration most =
      random_.Chance(0.1) ? absl::Milliseconds(500) : absl::Milliseconds(20);
  program_state_.After(random_.Between(absl::ZeroDuration(), most), [this] {
    if (done_) return;
    Begin(Draw(), DrawTimeout(), [this](const absl::StatusOr<v1::StoreAnswer>&) {
      --open_;
      Next();
    });
  });
}

std::string StoreProgram::NewToken() {
  return token_ = absl::StrCat("p", program_state_.process->id(), ".", ++tokens_);
}

std::string StoreProgram::KeyAmong(const char* prefix, uint32_t keys) {
  return absl::StrCat(prefix, random_.Pick(keys));
}

absl::Duration StoreProgram::DrawTimeout() {
  if (random_.Chance(0.3)) return absl::ZeroDuration();
  return random_.Chance(0.1) ? absl::Seconds(5)
                             : random_.Between(absl::Milliseconds(10), absl::Milliseconds(500));
}

v1::StoreOperation StoreProgram::Draw() {
  const std::string token = NewToken();
  v1::StoreOperation operation;
  switch (random_.Pick(19)) {
    case 0:
    case 1:
    case 2:
      operation.mutable_add()->set_key(store_keys::kCounter);
      operation.mutable_add()->set_amount(1);
      return operation;
    case 3:
    case 4:
      operation.mutable_append()->set_key(store_keys::kLog);
      operation.mutable_append()->set_value(token + ";");
      return operation;
    case 5:
    case 6:
      operation.mutable_push()->set_key(store_keys::kQueue);
      operation.mutable_push()->set_value(token);
      return operation;
    case 7:
    case 8:
      operation.mutable_pop()->set_key(store_keys::kQueue);
      return operation;
    case 9:
      operation.mutable_set()->set_key(KeyAmong(store_keys::kValue, 3));
      operation.mutable_set()->set_value(token);
      return operation;
    case 10:
      return GetOf(KeyAmong(store_keys::kValue, 3));
    case 11:
      operation.mutable_set()->set_key(KeyAmong(store_keys::kDeleted, 2));
      operation.mutable_set()->set_value(token);
      return operation;
    case 12:
      operation.mutable_delete_()->set_key(KeyAmong(store_keys::kDeleted, 2));
      return operation;
    case 13:
      return GetOf(KeyAmong(store_keys::kDeleted, 2));
    case 14:
      operation.mutable_compare_and_set()->set_key(KeyAmong(store_keys::kElection, 4));
      operation.mutable_compare_and_set()->set_value(token);
      return operation;
    case 15:
      operation.mutable_compare_and_set()->set_key(store_keys::kChain);
      operation.mutable_compare_and_set()->set_value(token);
      if (!last_chain_.empty()) operation.mutable_compare_and_set()->set_expected(last_chain_);
      return operation;
    case 16:
      return BarrierOf(store_keys::kPair, 2);
    case 17:
      for (int i = 0; i < 3; ++i) {
        operation.mutable_wait()->add_keys(absl::StrCat(store_keys::kValue, i));
      }
      return operation;
    default:
      if (random_.Chance(0.5)) return GetOf(store_keys::kLog);
      operation.mutable_queue_length()->set_key(store_keys::kQueue);
      return operation;
  }
}

void StoreProgram::Begin(v1::StoreOperation operation, absl::Duration timeout, Done done) {
  StoreChecks& checks = program_state_.checks->store;
  const size_t number = checks.Began(program_state_.process->id(), operation, token_);
  const bool swaps =
      operation.has_compare_and_set() && operation.compare_and_set().key() == store_keys::kChain;
  const std::string token = token_;
  const auto on_end = [=, &checks,
                       done = std::move(done)](const absl::StatusOr<v1::StoreAnswer>& answer) {
    if (program_state_.gone()) return;
    checks.Ended(number, answer);
    if (absl::IsAborted(answer.status()) || absl::IsUnavailable(answer.status())) {
      return End(/*finished=*/false);
    }
    if (swaps && answer.ok()) last_chain_ = answer->changed() ? token : answer->value();
    program_state_.After(absl::ZeroDuration(), [done, answer] { done(answer); });
  };
  MayCancel(client_.Begin(std::move(operation), timeout, on_end));
}

void StoreProgram::MayCancel(internal::StoreCallId id) {
  if (steps_ == 0 || *program_state_.faults_are_over || !random_.Chance(0.05)) return;
  program_state_.After(random_.Between(absl::ZeroDuration(), absl::Milliseconds(200)),
                       [this, id] { client_.Cancel(id); });
}

// If all processes live until the end, all have ended their operations when the barrier is
// complete.
void StoreProgram::MeetAll() {
  if (!program_state_.setting->harmless() || program_state_.setting->lying_launcher) {
    return ReadAll();
  }
  NewToken();
  Begin(BarrierOf(store_keys::kAll, program_state_.setting->size), kLongTimeout,
        [this](const absl::StatusOr<v1::StoreAnswer>&) { ReadAll(); });
}

void StoreProgram::ReadAll() {
  NewToken();
  Begin(GetOf(store_keys::kCounter), absl::ZeroDuration(),
        [this](const absl::StatusOr<v1::StoreAnswer>&) {
          NewToken();
          Begin(GetOf(store_keys::kLog), absl::ZeroDuration(),
                [this](const absl::StatusOr<v1::StoreAnswer>&) { PopAll(); });
        });
}

// Pops until the daemon says that the queue is empty. A pop that does not reach it is made again.
void StoreProgram::PopAll() {
  NewToken();
  v1::StoreOperation pop;
  pop.mutable_pop()->set_key(store_keys::kQueue);
  Begin(std::move(pop), absl::ZeroDuration(),
        [this](const absl::StatusOr<v1::StoreAnswer>& answer) {
          if (answer.ok()) return PopAll();
          const bool empty = absl::StrContains(answer.status().message(), "no element");
          if (empty || retries_++ == kMostRetries) return End(/*finished=*/empty);
          program_state_.After(absl::Milliseconds(200), [this] { PopAll(); });
        });
}

void StoreProgram::End(bool finished) {
  if (std::exchange(done_, true)) return;
  if (finished) program_state_.checks->store.Finished(program_state_.process->id());
  program_state_.After(absl::ZeroDuration(), on_done_);
}

}  // namespace muster::simulation
