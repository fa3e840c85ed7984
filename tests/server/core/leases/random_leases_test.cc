// Random calls of the lease table. After each one, answers and state equal those of a naive model.
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/core/leases/lease_table.h"
#include "tests/server/core/leases/naive_leases.h"

namespace muster::core {
namespace {

using Request = LeaseTable::Request;

LeaseKey Job(const std::string& name) { return {LeaseScope::kJob, "", name}; }

LeaseResult Result(uint64_t token, const std::string& value) {
  return {token, absl::OkStatus(), std::make_shared<const std::string>(value)};
}

// The clock stands at 1970, so tokens are 1, 2, 3... times 1024.
const Time kStart = absl::UnixEpoch();

// Returns limits so low that each of them is reached.
Limits Scarce() {
  Limits limits;
  limits.max_leases = 6;
  limits.max_leases_per_member = 4;
  limits.max_held_bytes = 40;
  return limits;
}

class RandomLeases {
 public:
  explicit RandomLeases(uint64_t seed)
      : random_(seed),
        limits_(Scarce()),
        budget_(limits_.max_held_bytes),
        table_(limits_, 0, &budget_),
        naive_budget_(limits_.max_held_bytes),
        naive_(limits_, &naive_budget_) {}

  void Step() {
    ++step_;
    switch (Pick(20)) {
      case 0:
        return Abandon();
      case 1:
      case 2:
        return Withdraw();
      case 3:
        return Forget();
      case 4:
        return KeepOnly();
      case 5:
        return AdoptHolder();
      case 6:
        return AdoptResult();
      case 7:
        return Reserve();
      case 8:
      case 9:
      case 10:
      case 11:
        return Complete();
      case 12:
      case 13:
      case 14:
        return Same(TextsOf(table_.GrantAll(kStart)), naive_.GrantAll());
      default:
        return Acquire();
    }
  }

 private:
  uint64_t Pick(uint64_t below) {
    return std::uniform_int_distribution<uint64_t>(0, below - 1)(random_);
  }
  std::string Name() { return absl::StrCat("n", Pick(10)); }
  Incarnation Member() { return std::string(1, static_cast<char>('a' + Pick(4))); }
  std::string Value() { return std::string(Pick(13), 'v'); }
  Request AnyRequest() { return {Member(), step_ < 20 ? step_ : step_ - Pick(20)}; }

  // Draws a token that a caller might send: the token of an existing lease, or any other.
  uint64_t Token() {
    std::vector<uint64_t> tokens = {1024 * (1 + Pick(1 + step_ / 3))};
    for (const auto& [key, lease] : table_.all()) {
      if (lease.holder) tokens.push_back(lease.holder->token);
      if (lease.result) tokens.push_back(lease.result->token);
    }
    return tokens[Pick(tokens.size())];
  }

  void ExpectCounts() {
    size_t held = 0;
    size_t waiting = 0;
    for (const auto& [key, lease] : table_.all()) {
      held += lease.holder.has_value();
      waiting += lease.queue.size();
    }
    EXPECT_EQ(table_.held(), held) << "step " << step_;
    EXPECT_EQ(table_.waiting(), waiting) << "step " << step_;
  }

  void Same(const std::vector<std::string>& answers, const std::vector<std::string>& expected) {
    EXPECT_EQ(answers, expected) << "step " << step_;
    EXPECT_EQ(StateOf(table_), naive_.State()) << "step " << step_;
    EXPECT_EQ(budget_.held(), naive_budget_.held()) << "step " << step_;
    ExpectCounts();
  }

  void Same(const absl::StatusOr<LeaseTable::Step>& step, const std::string& outcome,
            const std::vector<std::string>& expected) {
    EXPECT_EQ(absl::StatusCodeToString(step.status().code()), outcome) << "step " << step_;
    Same(step.ok() ? TextsOf(*step) : std::vector<std::string>(), expected);
  }

  void Acquire() {
    const std::string name = Name();
    const Request request = AnyRequest();
    const uint64_t attempt = Pick(5);
    const LeaseTable::Step step = table_.Acquire(Job(name), request, attempt, step_);
    Same(TextsOf(step), naive_.Acquire(name, request, attempt, step_));
  }

  // Completes a lease, mostly as its holder does.
  void Complete() {
    std::string name = Name();
    Incarnation member = Member();
    uint64_t token = Token();
    for (const auto& [key, lease] : table_.all()) {
      if (!lease.holder || Pick(3) != 0) continue;
      name = key.name;
      member = lease.holder->request.member;
      token = lease.holder->token;
    }
    const std::string value = Value();
    const auto step = table_.Complete(Job(name), member, Result(token, value));
    std::string outcome;
    const auto expected = naive_.Complete(name, member, token, value, &outcome);
    Same(step, outcome, expected);
  }

  void Abandon() {
    const std::string name = Name();
    const Request request = AnyRequest();
    Same(TextsOf(table_.Abandon(Job(name), request)), naive_.Abandon(name, request));
  }

  void Withdraw() {
    const std::string name = Name();
    const Request request = AnyRequest();
    table_.Withdraw(Job(name), request);
    naive_.Withdraw(name, request);
    Same({}, {});
  }

  void Forget() {
    const Incarnation member = Member();
    table_.Forget(member);
    naive_.Forget(member);
    Same({}, {});
  }

  void KeepOnly() {
    const Incarnation member = Member();
    const std::vector<uint64_t> tokens = {Token(), Token()};
    table_.KeepOnly(member, tokens);
    naive_.KeepOnly(member, tokens);
    Same({}, {});
  }

  void AdoptHolder() {
    const std::string name = Name();
    const Request request = AnyRequest();
    const uint64_t token = Token();
    const bool stands = table_.AdoptHolder(Job(name), request, token, kStart);
    EXPECT_EQ(stands, naive_.AdoptHolder(name, request, token)) << "step " << step_;
    Same({}, {});
  }

  void AdoptResult() {
    const std::string name = Name(), value = Value();
    const Incarnation claimant = Member();
    const uint64_t token = Token();
    const auto step = table_.AdoptResult(Job(name), claimant, Result(token, value));
    std::string outcome;
    const auto expected = naive_.AdoptResult(name, claimant, token, value, &outcome);
    Same(step, outcome, expected);
  }

  // Reserves bytes as collectives do, or returns them.
  void Reserve() {
    if (reserved_ > 0) {
      budget_.Release(reserved_);
      naive_budget_.Release(reserved_);
      reserved_ = 0;
      return;
    }
    const uint64_t bytes = Pick(30);
    if (!budget_.Reserve(bytes).ok()) return;
    ASSERT_TRUE(naive_budget_.Reserve(bytes).ok());
    reserved_ = bytes;
  }

  std::mt19937_64 random_;
  const Limits limits_;
  ByteBudget budget_;
  LeaseTable table_;
  ByteBudget naive_budget_;
  NaiveLeases naive_;
  uint64_t step_ = 0;
  uint64_t reserved_ = 0;
};

TEST(RandomLeasesTest, DoesWhatTheNaiveModelDoes) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    RandomLeases leases(seed);
    for (int i = 0; i < 500 && !::testing::Test::HasFailure(); ++i) leases.Step();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace muster::core
