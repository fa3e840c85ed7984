// Tests of the C ABI: its errors in one process, and jobs whose ranks run tests/client/c/rank.c.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "muster/c.h"
#include "muster/exit_code.h"
#include "muster/version.h"
#include "tests/util/job/ranks.h"

namespace muster::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr char kRank[] = "tests/client/c/rank";

// Returns the code and the text of an error, and frees it.
std::pair<muster_code, std::string> Taken(muster_status* status) {
  const std::pair<muster_code, std::string> taken = {muster_status_code(status),
                                                     muster_status_message(status)};
  muster_status_free(status);
  return taken;
}

muster_job* JoinAlone() {
  muster_options* options = nullptr;
  EXPECT_EQ(muster_options_new(&options), nullptr);
  muster_job* job = nullptr;
  EXPECT_EQ(muster_join(options, nullptr, &job), nullptr);
  muster_options_free(options);
  return job;
}

TEST(CApiTest, RanksInCUseTheWholeApi) {
  const Ranks ranks(3, 2, {kRank});
  EXPECT_THAT(ranks.exits(), Each(kSuccess));
  EXPECT_THAT(ranks.output(0), HasSubstr("rank 0 of 3, local 0 of 2, node 0 of 2, epoch "));
  EXPECT_THAT(ranks.output(2), HasSubstr("rank 2 of 3, local 0 of 1, node 1 of 2, epoch "));
}

TEST(CApiTest, DifferentSizesAreNamedOnAllRanks) {
  const Ranks ranks(3, 3, {kRank, "disagree"});
  EXPECT_THAT(ranks.exits(), Each(Exit{false, 1}));
  EXPECT_THAT(ranks.outputs(), Each(AllOf(HasSubstr("rank 1 called Broadcast(root 0, 8 bytes)"),
                                          HasSubstr("Broadcast(root 0, 4 bytes)"))));
}

TEST(CApiTest, ALossEndsCallsWithTheExitCodeForIt) {
  const Ranks ranks(3, 3, {kRank, "die"});
  EXPECT_EQ(ranks.exit(0), (Exit{false, kExitPeerLost}));
  EXPECT_EQ(ranks.exit(2), (Exit{false, kExitPeerLost}));
  EXPECT_THAT(ranks.output(2), AllOf(HasSubstr("rank 2: job '"), HasSubstr("rank 1 (")));
}

TEST(CApiTest, NullArgumentsAreRefusedByName) {
  EXPECT_EQ(Taken(muster_join(nullptr, nullptr, nullptr)),
            std::make_pair(muster_code{MUSTER_INVALID_ARGUMENT},
                           std::string("muster_join: 'job' is NULL")));
  EXPECT_THAT(Taken(muster_barrier(nullptr, "x", nullptr)).second, HasSubstr("'group' is NULL"));
  EXPECT_THAT(Taken(muster_leave(nullptr, nullptr)).second, HasSubstr("'job' is NULL"));
  EXPECT_EQ(muster_rank(nullptr), -1);
  EXPECT_EQ(muster_world(nullptr), nullptr);
  EXPECT_EQ(muster_values_get(nullptr, 0, nullptr), nullptr);
  muster_status_free(nullptr);
  muster_options_free(nullptr);
  muster_job_free(nullptr);
  muster_group_free(nullptr);
  muster_values_free(nullptr);
  muster_lease_free(nullptr);
  muster_cancellation_free(nullptr);
  muster_subscription_free(nullptr);
  muster_communicator_free(nullptr);
  muster_pending_free(nullptr);
  EXPECT_THAT(Taken(muster_start(nullptr, nullptr, nullptr)).second, HasSubstr("'calls' is NULL"));
  EXPECT_THAT(Taken(muster_communicator_barrier(nullptr, nullptr)).second,
              HasSubstr("'communicator' is NULL"));
  EXPECT_EQ(muster_pending_fd(nullptr), -1);
  muster_job* const job = JoinAlone();
  muster_group* const world = muster_world(job);
  char byte = 1;
  EXPECT_THAT(Taken(muster_broadcast(world, nullptr, 4, 0, nullptr)).second,
              HasSubstr("'data' is NULL, and 4 bytes"));
  EXPECT_THAT(Taken(muster_gather(world, &byte, 1, nullptr, 0, nullptr)).second,
              HasSubstr("'all' is NULL, and 1 bytes"));
  EXPECT_THAT(
      Taken(muster_acquire_lease(job, nullptr, MUSTER_ONCE_PER_JOB, nullptr, nullptr)).second,
      HasSubstr("'name' is NULL"));
  muster_job_free(job);
}

TEST(CApiTest, SuccessIsNull) {
  EXPECT_EQ(muster_status_code(nullptr), MUSTER_OK);
  EXPECT_STREQ(muster_status_message(nullptr), "");
  EXPECT_EQ(muster_status_exit_code(nullptr), 0);
  EXPECT_STREQ(muster_version(), MUSTER_VERSION);
}

TEST(CApiTest, JoinChecksTheOptions) {
  muster_options* options = nullptr;
  ASSERT_EQ(muster_options_new(&options), nullptr);
  const auto [code, text] = Taken(muster_options_set(options, "MUSTER_COORDINATR", "a:1"));
  EXPECT_EQ(code, MUSTER_INVALID_ARGUMENT);
  EXPECT_THAT(text, AllOf(HasSubstr("'MUSTER_COORDINATR'"), HasSubstr("MUSTER_COORDINATOR, ")));
  ASSERT_EQ(muster_options_set(options, "MUSTER_RANK", "two"), nullptr);
  muster_job* job = nullptr;
  muster_status* const original = muster_join(options, nullptr, &job);
  muster_status* const refused = muster_status_copy(original);
  muster_status_free(original);
  EXPECT_EQ(job, nullptr);
  EXPECT_EQ(muster_status_exit_code(refused), kExitBadConfiguration);
  EXPECT_THAT(Taken(refused).second, AllOf(HasSubstr("MUSTER_RANK"), HasSubstr("'two'")));
  ASSERT_EQ(muster_options_set(options, "MUSTER_RANK", nullptr), nullptr);
  ASSERT_EQ(muster_options_set(options, "MUSTER_JOB", "train"), nullptr);
  ASSERT_EQ(muster_join(options, nullptr, &job), nullptr);
  EXPECT_STREQ(muster_job_id(job), "train");
  muster_options_free(options);
  muster_job_free(job);
}

TEST(CApiTest, OtherHeaderVersionsAreAcceptedOrNamed) {
  muster_job* const job = JoinAlone();
  muster_group* const world = muster_world(job);
  struct Newer {
    muster_call_options known;
    int64_t added;
  } newer = {{sizeof(Newer), -1, nullptr, nullptr, 0, nullptr, nullptr}, 0};
  EXPECT_EQ(muster_barrier(world, "x", &newer.known), nullptr);
  newer.added = 1;
  EXPECT_THAT(Taken(muster_barrier(world, "x", &newer.known)).second,
              HasSubstr("built with a newer muster/c.h"));
  muster_call_options older = {
      offsetof(muster_call_options, file), 0, nullptr, nullptr, 0, nullptr, nullptr};
  std::memset(static_cast<void*>(&older.file), 0xff, sizeof(older.file));  // not the caller's
  EXPECT_EQ(muster_barrier(world, "x", &older), nullptr);
  older.size = 0;
  EXPECT_THAT(Taken(muster_barrier(world, "x", &older)).second, HasSubstr("MUSTER_CALL_OPTIONS"));
  muster_job_free(job);
}

TEST(CApiTest, ProgramErrorsAndTheRanksTheyName) {
  EXPECT_EQ(muster_status_new(MUSTER_OK, "well"), nullptr);
  muster_status* const unknown = muster_status_new(99, nullptr);
  EXPECT_EQ(muster_status_rank(unknown), -1);
  EXPECT_EQ(Taken(unknown), std::make_pair(muster_code{MUSTER_UNKNOWN}, std::string()));
  EXPECT_EQ(muster_status_copy(nullptr), nullptr);
  muster_status* const own = muster_status_new(MUSTER_ABORTED, "rank 3 (host h, pid 7) was lost");
  for (const muster_status* status : std::vector<const muster_status*>{own, nullptr}) {
    EXPECT_STREQ(muster_status_node(status), "");
    EXPECT_STREQ(muster_status_cause(status), "");
    EXPECT_EQ(muster_status_pid(status), -1);
    EXPECT_EQ(muster_status_missing_count(status), 0u);
    EXPECT_EQ(muster_status_missing_rank(status, 0), -1);
  }
  muster_status_free(own);
  for (const auto& [text, rank] :
       std::map<std::string, int>{{"job 'a': rank 12 (node 'n', host h, pid 3) was lost", 12},
                                  {"rank 0 (host h, pid 3): no such file", 0},
                                  {"rank 7 called Barrier('a'); rank 2 (host h, pid 3) did not", 2},
                                  {"a rank (of the job) in rank 99999999999 (host h)", -1},
                                  {"rank ", -1}}) {
    muster_status* const status = muster_status_new(MUSTER_ABORTED, text.c_str());
    EXPECT_EQ(muster_status_rank(status), rank) << text;
    muster_status_free(status);
  }
}

TEST(CApiTest, TheSinkGetsTheLogUntilItIsRemoved) {
  std::string said;
  muster_set_log_sink(
      [](void* context, muster_log_level level, const char* line) {
        absl::StrAppend(static_cast<std::string*>(context), level, ":", line);
      },
      &said);
  muster_job* const job = JoinAlone();
  muster_lease* lease = nullptr;
  ASSERT_EQ(muster_acquire_lease(job, "work", MUSTER_ONCE_PER_NODE, nullptr, &lease), nullptr);
  muster_lease_free(lease);  // still held: logs a warning
  EXPECT_THAT(said, AllOf(HasSubstr("2:"), HasSubstr("'work'")));
  muster_set_log_sink(nullptr, nullptr);
  said.clear();
  ASSERT_EQ(muster_acquire_lease(job, "more", MUSTER_ONCE_PER_NODE, nullptr, &lease), nullptr);
  muster_lease_free(lease);
  EXPECT_EQ(said, "");
  muster_job_free(job);
}

TEST(CApiTest, SubscriptionsEndWithTheirJob) {
  muster_job* const job = JoinAlone();
  muster_code told = MUSTER_OK;
  muster_subscription* subscription = nullptr;
  const muster_failure_callback note = [](void* context, const muster_status* status) {
    *static_cast<muster_code*>(context) = muster_status_code(status);
  };
  ASSERT_EQ(muster_on_failure(job, note, &told, &subscription), nullptr);
  EXPECT_EQ(told, MUSTER_OK);
  muster_job_free(job);
  EXPECT_EQ(told, MUSTER_CANCELLED);
  muster_subscription_free(subscription);
}

TEST(CApiTest, BackgroundCallsEndWithAnyResult) {
  muster_pending* pending = nullptr;
  ASSERT_EQ(muster_start([](void*) { return muster_status_new(MUSTER_INTERNAL, "no"); }, nullptr,
                         &pending),
            nullptr);
  EXPECT_EQ(Taken(muster_pending_wait(pending)).second, "no");
  EXPECT_EQ(muster_pending_done(pending), 1);
  if (const pid_t fork_of = fork(); fork_of == 0) {
    const bool refused = Taken(muster_pending_wait(pending)).first == MUSTER_FAILED_PRECONDITION;
    muster_pending_free(pending);
    _exit(refused ? 0 : 1);
  } else {
    int status = -1;
    ASSERT_EQ(waitpid(fork_of, &status, 0), fork_of);
    EXPECT_EQ(status, 0);
  }
  muster_pending_free(pending);
}

TEST(CApiTest, VariablesGiveTheRankBeforeJoining) {
  muster_options* options = nullptr;
  ASSERT_EQ(muster_options_new(&options), nullptr);
  EXPECT_EQ(muster_options_rank(options), -1);
  ASSERT_EQ(muster_options_set(options, "MUSTER_RANK", "3"), nullptr);
  ASSERT_EQ(muster_options_set(options, "MUSTER_LOCAL_RANK", "1"), nullptr);
  EXPECT_EQ(muster_options_rank(options), 3);
  EXPECT_EQ(muster_options_local_rank(options), 1);
  muster_options_free(options);
  EXPECT_EQ(muster_options_local_rank(nullptr), -1);
}

TEST(CApiTest, GroupsAndLeasesOutliveTheirJob) {
  muster_job* const job = JoinAlone();
  const int alone = 0;
  muster_group* group = nullptr;
  ASSERT_EQ(muster_group_new(job, "mine", &alone, 1, &group), nullptr);
  EXPECT_EQ(muster_world(job), muster_world(job));
  muster_lease* lease = nullptr;
  ASSERT_EQ(muster_acquire_lease(job, "work", MUSTER_ONCE_PER_NODE, nullptr, &lease), nullptr);
  muster_job_free(job);
  EXPECT_EQ(Taken(muster_barrier(group, "x", nullptr)).first, MUSTER_CANCELLED);
  EXPECT_EQ(Taken(muster_lease_complete(lease, "x", 1)).first, MUSTER_CANCELLED);
  muster_group_free(group);
  muster_lease_free(lease);
}

}  // namespace
}  // namespace muster::testing
