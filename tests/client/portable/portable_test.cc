// Tests of muster/portable.h: its types in one process, and jobs whose ranks run
// tests/client/portable/rank.cc. Includes muster/muster.h as well, because a program may use both.
#include "muster/portable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "muster/exit_code.h"
#include "muster/muster.h"
#include "muster/version.h"
#include "tests/util/job/ranks.h"

// A type of a program's own, as IEEE half precision.
struct Half {
  uint16_t bits;
};
template <>
struct muster::portable::ElementType<Half> {
  static constexpr DataType kValue = DataType::kFloat16;
};

namespace muster::testing {
namespace {

using portable::Code;
using portable::DataType;
using portable::ElementType;
using portable::Result;
using portable::Span;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Args kRank = {"tests/client/portable/rank"};
const Args kRankWithoutExceptions = {"tests/client/portable/rank_without_exceptions"};
// The settle time is longer than ranks that are started together need to join.
const Args kElastic = {"--member-grace=300ms", "--min-world-size=2", "--settle=3s"};

Args RankThat(const std::string& mode) { return {kRank[0], mode}; }

portable::Job JoinAlone() {
  return portable::OrDie(portable::Job::Join(portable::JobOptions::Empty()));
}

TEST(PortableTest, RanksDoEverythingTogether) {
  const Ranks ranks(3, 2, kRank);
  EXPECT_THAT(ranks.exits(), Each(kSuccess));
  EXPECT_THAT(ranks.output(0), HasSubstr("rank 0 of 3, local 0 of 2, node 0 of 2\n"));
  EXPECT_THAT(ranks.output(2), HasSubstr("rank 2 of 3, local 0 of 1, node 1 of 2\n"));
}

TEST(PortableTest, RanksThatAreCompiledWithoutExceptionsDoSo) {
  EXPECT_THAT(Ranks(3, 3, kRankWithoutExceptions).exits(), Each(kSuccess));
}

TEST(PortableTest, ALossEndsCallsWithTheExitCodeForIt) {
  const Ranks ranks(3, 3, RankThat("loss"));
  EXPECT_EQ(ranks.exit(0), (Exit{false, kExitPeerLost}));
  EXPECT_EQ(ranks.exit(2), (Exit{false, kExitPeerLost}));
  EXPECT_THAT(ranks.output(2), AllOf(HasSubstr("rank 2: job '"), HasSubstr("rank 1 (")));
}

TEST(PortableTest, SurvivorsOfAnElasticJobGoOn) {
  const Ranks ranks(3, 3, RankThat("elastic"), {}, {}, kElastic);
  EXPECT_EQ(ranks.exit(0), kSuccess);
  EXPECT_EQ(ranks.exit(2), kSuccess);
}

TEST(PortableTest, AStatusHasTheCodeTheMessageAndTheRank) {
  const portable::Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), Code::kOk);
  EXPECT_STREQ(ok.message(), "");
  EXPECT_EQ(ok.rank(), std::nullopt);
  EXPECT_EQ(ok.pid(), std::nullopt);
  EXPECT_STREQ(ok.node(), "");
  EXPECT_STREQ(ok.cause(), "");
  EXPECT_TRUE(ok.missing_ranks().empty());
  EXPECT_EQ(ok.exit_code(), 0);
  EXPECT_EQ(ok.ToString(), "OK");
  EXPECT_EQ(ok.handle(), nullptr);
  EXPECT_TRUE(portable::Status(Code::kOk, "well").ok());

  const portable::Status lost(Code::kAborted, "rank 12 (node 'n', host h, pid 3) was lost");
  EXPECT_EQ(lost.rank(), 12);
  EXPECT_EQ(lost.exit_code(), kExitPeerLost);
  EXPECT_THAT(lost.ToString(), StartsWith("ABORTED: rank 12 ("));
  EXPECT_EQ(portable::Status(Code::kAborted, "nobody").rank(), std::nullopt);

  const portable::Status copy = portable::Status::Take(lost.ToC());
  EXPECT_EQ(copy.ToString(), lost.ToString());
  EXPECT_EQ(portable::Status::Copy(lost.handle()).ToString(), lost.ToString());
}

TEST(PortableTest, EveryCodeHasTheNameThatAbseilGivesIt) {
  for (int code = MUSTER_OK; code <= MUSTER_UNAUTHENTICATED; ++code) {
    EXPECT_EQ(portable::NameOf(static_cast<Code>(code)),
              absl::StatusCodeToString(static_cast<absl::StatusCode>(code)));
  }
  EXPECT_STREQ(portable::NameOf(static_cast<Code>(99)), "UNKNOWN");
}

TEST(PortableTest, AResultIsAValueOrAnError) {
  Result<std::string> value = std::string("seven");
  EXPECT_TRUE(value.ok() && value.status().ok());
  EXPECT_EQ(*value + value.value(), "sevenseven");
  EXPECT_EQ(value->size(), 5u);
  EXPECT_EQ(std::move(value).value(), "seven");

  const Result<std::string> error = portable::Status(Code::kNotFound, "no such bucket");
  EXPECT_FALSE(error.ok());
  try {
    (void)error.value();
    ADD_FAILURE() << "value() has not thrown";
  } catch (const portable::Error& thrown) {
    EXPECT_STREQ(thrown.what(), "no such bucket");
    EXPECT_EQ(thrown.status().code(), Code::kNotFound);
  }
  EXPECT_DEATH((void)*error, "NOT_FOUND: no such bucket");
  EXPECT_EQ(Result<int>(portable::Status()).status().code(), Code::kInternal);
}

TEST(PortableTest, ASpanIsMadeOfWhateverHasElementsInARow) {
  std::vector<float> vector = {1, 2};
  const std::array<int, 3> constant = {1, 2, 3};
  double array[4] = {};
  EXPECT_EQ(Span(vector).data(), vector.data());
  EXPECT_EQ(Span(constant).size(), 3u);
  EXPECT_EQ(Span(array).size(), 4u);
  EXPECT_EQ(Span(absl::MakeSpan(vector)).size(), 2u);
  static_assert(std::is_same_v<decltype(Span(vector)), Span<float>>);
  static_assert(std::is_same_v<decltype(Span(constant)), Span<const int>>);
  static_assert(std::is_same_v<decltype(Span(Span(vector))), Span<float>>);
  static_assert(std::is_convertible_v<Span<float>, Span<const float>>);
  static_assert(!std::is_convertible_v<Span<const float>, Span<float>>);
  static_assert(!std::is_convertible_v<std::vector<int>&, Span<float>>);
  const Span<const float> read = vector;
  EXPECT_THAT(std::vector<float>(read.begin(), read.end()), ElementsAre(1, 2));
}

TEST(PortableTest, NumbersAreElementsAndSoAreTypesOfTheProgram) {
  static_assert(ElementType<bool>::kValue == DataType::kBool);
  static_assert(ElementType<unsigned char>::kValue == DataType::kUint8);
  static_assert(ElementType<long>::kValue == DataType::kInt64);
  static_assert(ElementType<unsigned long long>::kValue == DataType::kUint64);
  static_assert(ElementType<float>::kValue == DataType::kFloat32);
  portable::Job job = JoinAlone();
  portable::Communicator alone = portable::OrDie(portable::Communicator::Create(job));
  std::vector<Half> halves(2);
  EXPECT_TRUE(alone.Broadcast(Span(halves)).ok());
}

TEST(PortableTest, JoinChecksTheOptions) {
  portable::JobOptions options = portable::OrDie(portable::JobOptions::Empty());
  EXPECT_EQ(options.rank(), -1);
  EXPECT_THAT(options.Set("MUSTER_COORDINATR", "a:1").message(), HasSubstr("MUSTER_COORDINATOR, "));
  ASSERT_TRUE(options.Set("MUSTER_RANK", "two").ok());
  const Result<portable::Job> refused = portable::Job::Join(options);
  EXPECT_EQ(refused.status().exit_code(), kExitBadConfiguration);
  EXPECT_THAT(refused.status().message(), HasSubstr("'two'"));
  ASSERT_TRUE(options.Set("MUSTER_RANK", "3").ok() && options.Set("MUSTER_LOCAL_RANK", "1").ok());
  EXPECT_EQ(options.rank(), 3);
  EXPECT_EQ(options.local_rank(), 1);
  ASSERT_TRUE(options.Remove("MUSTER_RANK").ok() && options.Set("MUSTER_JOB", "train").ok());
  EXPECT_EQ(portable::OrDie(portable::Job::Join(options)).id(), "train");
}

TEST(PortableTest, SerialModeWorksAsAJobOfOne) {
  portable::Job job = JoinAlone();
  EXPECT_FALSE(job.is_distributed());
  EXPECT_EQ(job.self().rank, 0);
  EXPECT_EQ(*job.AllReduce(7), 7);
  EXPECT_EQ(*job.Broadcast("hello"), "hello");
  EXPECT_EQ(*job.RunOnMain([] { return 7; }), 7);
  EXPECT_EQ(*job.RunOncePerNode("work", [] { return std::string("done"); }), "done");
  EXPECT_EQ(portable::OrDie(portable::Communicator::Create(job)).backend(), "serial");
  EXPECT_TRUE(job.Leave().ok());
}

TEST(PortableTest, TheStoreHasTheJobsKeys) {
  const portable::Job job = JoinAlone();
  const portable::Store store = job.store();
  EXPECT_TRUE(store.Set("port", "7001").ok());
  EXPECT_EQ(*store.Get("port"), "7001");
  EXPECT_EQ(*store.Append("port", "-7009"), 9);
  EXPECT_TRUE(store.Wait({"port"}).ok());
  EXPECT_EQ(*store.Add("tickets", 2), 2);
  EXPECT_EQ(*store.List("p"), std::vector<std::string>{"port"});
  EXPECT_EQ(*store.Count(""), 2);
  EXPECT_EQ(*store.Push("work", "first"), 1);
  EXPECT_EQ(*store.Length("work"), 1);
  EXPECT_EQ(*store.Pop("work"), "first");
  EXPECT_EQ(*store.Barrier("met", 1), 1);
  EXPECT_TRUE(*store.Delete("port"));
  EXPECT_FALSE(*store.Delete("port"));

  const portable::StoreComparison created = *store.CompareAndSet("owner", std::nullopt, "0");
  EXPECT_TRUE(created.changed);
  EXPECT_EQ(created.value, "0");
  const portable::StoreComparison refused = *store.CompareAndSet("owner", "1", "2");
  EXPECT_FALSE(refused.changed);
  EXPECT_EQ(refused.value, "0");
  EXPECT_FALSE(store.CompareAndSet("nobody", std::string_view(), "2")->value.has_value());
  EXPECT_EQ(store.Barrier("met", 0).status().code(), portable::Code::kInvalidArgument);
}

// Waits for what a thread of the library notes.
class Changes {
 public:
  void Note(const portable::Result<portable::StoreEvent>& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!event.ok())
      noted_.push_back("error " + std::to_string(static_cast<int>(event.status().code())));
    if (event.ok()) noted_.push_back(event->key + "=" + event->value);
    changed_.notify_all();
  }
  std::vector<std::string> Await(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return noted_.size() >= count; });
    return noted_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> noted_;
};

TEST(PortableTest, AWatchTellsOfChangesUntilItsJobEnds) {
  Changes changes;
  portable::Subscription watch;
  {
    const portable::Job job = JoinAlone();
    EXPECT_TRUE(job.store().Set("workers/0", "a").ok());
    watch = *job.store().Watch(
        "workers/",
        [&](const portable::Result<portable::StoreEvent>& event) { changes.Note(event); });
    changes.Await(1);
    EXPECT_TRUE(job.store().Set("elsewhere", "").ok());
    EXPECT_TRUE(job.store().Set("workers/1", "b").ok());
    EXPECT_EQ(changes.Await(2), (std::vector<std::string>{"workers/0=a", "workers/1=b"}));
  }
  EXPECT_EQ(changes.Await(3).back(), "error 1");  // CANCELLED
}

TEST(PortableTest, CallsOnAMovedFromObjectAreErrors) {
  portable::Job job = JoinAlone();
  const portable::Job moved = std::move(job);
  EXPECT_EQ(job.rank(), -1);  // NOLINT(bugprone-use-after-move): the object under test
  EXPECT_EQ(job.id(), "");
  EXPECT_EQ(job.Barrier().code(), Code::kInvalidArgument);
  EXPECT_EQ(job.AllGather(1).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(job.Leave().code(), Code::kInvalidArgument);
  EXPECT_TRUE(moved.Barrier().ok());
}

TEST(PortableTest, GroupsLeasesAndCommunicatorsOutliveTheirJob) {
  auto job = std::make_unique<portable::Job>(JoinAlone());
  const portable::Group group = *job->NewGroup("mine", {0});
  portable::Lease lease = *job->AcquireLease("work", portable::LeaseScope::kNode);
  portable::Communicator communicator = *portable::Communicator::Create(group);
  job.reset();
  EXPECT_EQ(group.Barrier().code(), Code::kCancelled);
  EXPECT_EQ(lease.Complete("x").code(), Code::kCancelled);
  EXPECT_EQ(communicator.Barrier().code(), Code::kCancelled);
}

TEST(PortableTest, SubscriptionsEndWithTheirJob) {
  portable::Status seen;
  portable::Subscription subscription;
  {
    const portable::Job job = JoinAlone();
    subscription = *job.OnFailure([&](const portable::Status& status) { seen = status; });
    EXPECT_TRUE(seen.ok());
  }
  EXPECT_EQ(seen.code(), Code::kCancelled);
}

TEST(PortableTest, CallsInTheBackgroundEndWhateverTheyDo) {
  const auto fail = [] { return portable::Status(Code::kUnavailable, "no"); };
  EXPECT_STREQ(portable::Start(fail)->Wait().message(), "no");
  const auto hurl = []() -> portable::Status { throw std::string("thrown"); };
  EXPECT_EQ(portable::Start(hurl)->Wait().code(), Code::kInternal);
}

TEST(PortableTest, TheSinkGetsTheLogUntilItIsReplaced) {
  std::string log;
  portable::SetLogSink([&log](portable::LogLevel level, std::string_view line) {
    if (level == portable::LogLevel::kWarning) log.append(line);
  });
  portable::Job job = JoinAlone();
  // A held lease that is destroyed logs a warning.
  (void)job.AcquireLease("work", portable::LeaseScope::kNode);
  EXPECT_THAT(log, HasSubstr("'work'"));
  portable::SetLogSink(nullptr);
  log.clear();
  (void)job.AcquireLease("more", portable::LeaseScope::kNode);
  EXPECT_EQ(log, "");
}

TEST(PortableTest, TheVersionIsTheLibrarys) {
  EXPECT_STREQ(portable::LibraryVersion(), MUSTER_VERSION);
}

}  // namespace
}  // namespace muster::testing
