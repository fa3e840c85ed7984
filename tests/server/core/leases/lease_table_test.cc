// The lease table alone: what it keeps, and what it forgets.
#include "server/core/leases/lease_table.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/core/leases/naive_leases.h"

namespace muster::core {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Request = LeaseTable::Request;

LeaseKey Job(const std::string& name) { return {LeaseScope::kJob, "", name}; }

LeaseResult Result(uint64_t token, const std::string& value) {
  return {token, absl::OkStatus(), std::make_shared<const std::string>(value)};
}

// The clock stands at 1970, so tokens are 1, 2, 3... times 1024.
const Time kStart = absl::UnixEpoch();

Limits MakeLimits(uint32_t leases, uint32_t per_member, uint64_t bytes) {
  Limits limits;
  limits.max_leases = leases;
  limits.max_leases_per_member = per_member;
  limits.max_held_bytes = bytes;
  return limits;
}

// A lease table, and members that acquire leases and complete them.
class LeaseTableTest : public ::testing::Test {
 protected:
  void Limit(const Limits& limits) {
    budget_.emplace(limits.max_held_bytes);
    table_.emplace(limits, /*instance=*/0, &*budget_);
  }

  // Returns "token" of the grant, "done TOKEN VALUE", an error code, or "waits".
  std::string Acquire(const Incarnation& member, const std::string& name) {
    const Request request{member, ++requests_};
    LeaseTable::Step step = table_->Acquire(Job(name), request, 1, requests_);
    if (step.empty()) step = table_->GrantAll(kStart);
    if (step.empty()) return "waits";
    if (!step[0].status.ok()) last_error_ = step[0].status;
    const std::string text = TextsOf(step)[0];
    return text.substr(text.find(": ") + 2);
  }

  uint64_t TokenOf(const std::string& name) const {
    const LeaseTable::Lease& lease = *table_->Find(Job(name));
    return lease.holder ? lease.holder->token : lease.result->token;
  }

  absl::Status Complete(const Incarnation& member, const std::string& name,
                        const std::string& value = "") {
    return table_->Complete(Job(name), member, Result(TokenOf(name), value)).status();
  }

  // Returns the token.
  uint64_t Work(const Incarnation& member, const std::string& name, const std::string& value = "") {
    EXPECT_THAT(Acquire(member, name), HasSubstr("granted")) << name;
    const uint64_t token = TokenOf(name);
    EXPECT_EQ(Complete(member, name, value), absl::OkStatus()) << name;
    return token;
  }

  bool Knows(const std::string& name) const { return table_->Find(Job(name)) != nullptr; }

  std::optional<ByteBudget> budget_;
  std::optional<LeaseTable> table_;
  absl::Status last_error_;
  uint64_t requests_ = 0;
};

TEST_F(LeaseTableTest, ANameForEveryStepNeverEndsAtTheLimit) {
  Limit(MakeLimits(8, 8, 1000));
  for (int step = 0; step < 100; ++step) {
    const std::string name = absl::StrCat("step ", step);
    Work("a", name, "x");
    EXPECT_THAT(Acquire("b", name), HasSubstr("done"));
  }
  EXPECT_EQ(table_->all().size(), 8u);
  EXPECT_EQ(budget_->held(), 8u);
}

TEST_F(LeaseTableTest, RequestedResultsAreKeptLonger) {
  Limit(MakeLimits(3, 8, 1000));
  for (const char* name : {"unpack", "b", "c"}) Work("a", name);
  EXPECT_THAT(Acquire("newcomer", "unpack"), HasSubstr("done"));
  Work("a", "d");
  EXPECT_TRUE(Knows("unpack"));
  EXPECT_FALSE(Knows("b"));
}

TEST_F(LeaseTableTest, TheLargestPublisherMakesRoom) {
  Limit(MakeLimits(8, 8, 1000));
  Work("quiet", "unpack");
  Work("quiet", "index");
  for (int i = 0; i < 1000; ++i) Work("busy", absl::StrCat("name ", i));
  EXPECT_TRUE(Knows("unpack"));
  EXPECT_TRUE(Knows("index"));
}

TEST_F(LeaseTableTest, ResultsTakeHalfOfTheBytesAndTheLargestPublisherGivesWay) {
  Limit(MakeLimits(1000, 8, 100));
  Work("quiet", "unpack", std::string(10, 'q'));
  for (int i = 0; i < 100; ++i) Work("busy", absl::StrCat("name ", i), std::string(15, 'b'));
  EXPECT_EQ(budget_->held(), 40u);
  EXPECT_TRUE(Knows("unpack"));
}

TEST_F(LeaseTableTest, RoomIsRefusedOnlyWhereNothingCanBeForgotten) {
  Limit(MakeLimits(2, 8, 1000));
  EXPECT_THAT(Acquire("a", "x"), HasSubstr("granted"));
  EXPECT_THAT(Acquire("a", "y"), HasSubstr("granted"));
  EXPECT_EQ(Acquire("b", "z"), "RESOURCE_EXHAUSTED");
  EXPECT_THAT(last_error_.ToString(), AllOf(HasSubstr("lease 'z' of the job"),
                                            HasSubstr("ask again when some are completed"),
                                            HasSubstr("--max-leases raises")));
  EXPECT_EQ(Complete("a", "x"), absl::OkStatus());
  EXPECT_THAT(Acquire("b", "z"), HasSubstr("granted"));
}

TEST_F(LeaseTableTest, AResultThatCannotFitForgetsNothing) {
  Limit(MakeLimits(8, 8, 100));
  Work("a", "small", "kept");
  ASSERT_TRUE(budget_->Reserve(50).ok());  // used by collectives
  EXPECT_THAT(Acquire("b", "large"), HasSubstr("granted"));
  const absl::Status refused = Complete("b", "large", std::string(51, 'x'));
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.ToString(),
              AllOf(HasSubstr("lease 'large' of the job"), HasSubstr("--max-held-bytes")));
  EXPECT_TRUE(Knows("small"));
  EXPECT_EQ(Complete("b", "large", std::string(50, 'x')), absl::OkStatus()) << "it is still held";
}

TEST_F(LeaseTableTest, AMemberHasItsShareAndNoMore) {
  Limit(MakeLimits(100, 3, 1000));
  EXPECT_THAT(Acquire("b", "taken"), HasSubstr("granted"));
  for (const char* name : {"x", "y"}) EXPECT_THAT(Acquire("a", name), HasSubstr("granted"));
  EXPECT_EQ(Acquire("a", "taken"), "waits");
  EXPECT_EQ(Acquire("a", "z"), "RESOURCE_EXHAUSTED");
  EXPECT_THAT(last_error_.ToString(), AllOf(HasSubstr("holds 2 leases and waits for 1"),
                                            HasSubstr("--max-leases-per-member raises")));
  EXPECT_THAT(Acquire("b", "z"), HasSubstr("granted")) << "others have theirs";
  EXPECT_EQ(Complete("a", "x"), absl::OkStatus());
  EXPECT_THAT(Acquire("a", "w"), HasSubstr("granted"));
}

TEST_F(LeaseTableTest, ForgottenWorkIsDoneAgainUnderAHigherToken) {
  Limit(MakeLimits(1, 8, 1000));
  const uint64_t first = Work("a", "x", "one");
  Work("b", "y");
  EXPECT_GT(Work("b", "x", "two"), first);
  EXPECT_THAT(Acquire("a", "x"), HasSubstr("two"));
  EXPECT_THAT(*table_->TakeForgottenReport(), HasSubstr("'y'"));
  EXPECT_FALSE(table_->TakeForgottenReport().has_value());
}

TEST_F(LeaseTableTest, ACompletionThatIsSentAgainIsTakenThoughItsOutcomeIsForgotten) {
  Limit(MakeLimits(1, 8, 1000));
  const uint64_t token = Work("a", "x", "one");
  Work("b", "y");
  EXPECT_TRUE(table_->Stands(Job("x"), {"a", 1}, token));
  EXPECT_TRUE(table_->Complete(Job("x"), "a", Result(token, "one")).ok());
  EXPECT_FALSE(Knows("x"));
}

TEST_F(LeaseTableTest, AForgottenResultIsNotAdoptedFromAClaim) {
  Limit(MakeLimits(1, 8, 1000));
  const uint64_t token = Work("a", "x", "one");
  EXPECT_THAT(Acquire("b", "y"), HasSubstr("granted"));
  table_->Abandon(Job("y"), {"b", requests_});
  EXPECT_TRUE(table_->AdoptResult(Job("x"), "a", Result(token, "one")).ok());
  EXPECT_FALSE(Knows("x"));
}

TEST_F(LeaseTableTest, AClaimedOutcomeDoesNotVoidALaterGrantInEitherOrder) {
  for (const bool outcome_first : {true, false}) {
    Limit(MakeLimits(8, 8, 1000));
    const auto outcome = [&] { return table_->AdoptResult(Job("x"), "a", Result(5, "old")).ok(); };
    if (outcome_first) {
      EXPECT_TRUE(outcome());
    }
    EXPECT_TRUE(table_->AdoptHolder(Job("x"), {"b", 1}, 9, kStart));
    if (!outcome_first) {
      EXPECT_TRUE(outcome());
    }
    EXPECT_TRUE(table_->Stands(Job("x"), {"b", 1}, 9));
    EXPECT_EQ(budget_->held(), 0u);
    EXPECT_EQ(Complete("b", "x", "new"), absl::OkStatus());
  }
}

TEST_F(LeaseTableTest, ClaimsTakeOnlyFreeRoomAndTheirOldestGoFirst) {
  Limit(MakeLimits(3, 8, 1000));
  Work("a", "fresh");
  const uint64_t high = 1 << 20;
  for (const char* name : {"late", "early", "earliest"}) {  // latest first
    const bool kept = table_->AdoptResult(Job(name), "a", Result(high, name)).ok();
    EXPECT_EQ(kept, std::string(name) != "earliest");
  }
  Work("a", "new");
  EXPECT_FALSE(Knows("early"));
  EXPECT_TRUE(Knows("late"));
  EXPECT_TRUE(Knows("fresh"));
}

TEST_F(LeaseTableTest, NothingIsLeftOfAnotherRun) {
  Limit(MakeLimits(2, 8, 1000));
  const uint64_t token = Work("a", "x", "old");
  Work("a", "y", "old");
  Work("a", "z", "old");  // "x" is forgotten
  EXPECT_THAT(Acquire("a", "held"), HasSubstr("granted"));
  const uint64_t last = TokenOf("held");
  table_->Clear();
  EXPECT_THAT(table_->all(), IsEmpty());
  EXPECT_EQ(budget_->held(), 0u);
  EXPECT_TRUE(table_->AdoptResult(Job("x"), "b", Result(token, "of this run")).ok());
  EXPECT_TRUE(Knows("x"));
  EXPECT_GT(Work("b", "z"), last);
}

TEST_F(LeaseTableTest, NothingIsLeftOfAMemberThatIsGone) {
  Limit(MakeLimits(8, 8, 1000));
  EXPECT_THAT(Acquire("a", "held"), HasSubstr("granted"));
  EXPECT_THAT(Acquire("b", "other"), HasSubstr("granted"));
  EXPECT_EQ(Acquire("a", "other"), "waits");
  table_->Abandon(Job("unknown"), {"a", 77});
  table_->Forget("a");
  EXPECT_FALSE(Knows("held"));
  EXPECT_THAT(table_->Find(Job("other"))->queue, IsEmpty());
  EXPECT_TRUE(table_->Acquire(Job("unknown"), {"a", 77}, 1, 1).empty()) << "it is not abandoned";
}

}  // namespace
}  // namespace muster::core
