// Tests of the JobOptions that follow from the environment.
#include "muster/job_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "muster/job.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

class JobOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { Clear(); }
  void TearDown() override { Clear(); }

  static void Clear() {
    for (const char* name : {"MUSTER_COORDINATOR",
                             "MUSTER_JOB",
                             "MUSTER_WORLD_SIZE",
                             "MUSTER_RANK",
                             "MUSTER_LOCAL_RANK",
                             "MUSTER_NODE_RANK",
                             "MUSTER_NODE_ID",
                             "MUSTER_TOPOLOGY",
                             "MUSTER_PROCESS_SECRET",
                             "MUSTER_TIMEOUT",
                             "MUSTER_COORDINATOR_TIMEOUT",
                             "MUSTER_NODE_FANIN",
                             "MUSTER_TOKEN_FILE",
                             "MUSTER_TLS_CA",
                             "MUSTER_TLS_CERT",
                             "MUSTER_TLS_KEY",
                             "MUSTER_TLS_SERVER_NAME",
                             "WORLD_SIZE",
                             "RANK",
                             "SLURM_JOB_ID",
                             "SLURM_RESTART_COUNT",
                             "SLURM_PROCID",
                             "PET_NODE_RANK",
                             "PET_NNODES",
                             "PET_NPROC_PER_NODE",
                             "PET_MASTER_ADDR",
                             "PET_MASTER_PORT",
                             "LWS_WORKER_INDEX",
                             "LWS_GROUP_SIZE",
                             "LWS_LEADER_ADDRESS"}) {
      unsetenv(name);
    }
  }

  static absl::StatusOr<JobOptions> From(const std::map<std::string, std::string>& variables) {
    Clear();
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    return JobOptions::FromEnvironment();
  }

  static void ExpectMalformed(const std::string& variable, const std::string& value,
                              const std::string& expected) {
    SCOPED_TRACE(variable + "=" + value);
    std::map<std::string, std::string> variables = {{"MUSTER_COORDINATOR", "localhost:7370"}};
    variables[variable] = value;
    const absl::Status status = From(variables).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(variable));
    EXPECT_THAT(std::string(status.message()), HasSubstr(value.empty() ? "empty" : value));
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected));
  }
};

TEST_F(JobOptionsTest, WithoutVariablesTheJobIsSerial) {
  const auto options = From({});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->coordinator, "");
  EXPECT_EQ(options->job, "default");
  EXPECT_EQ(options->timeout, absl::Minutes(30));
  EXPECT_EQ(options->coordinator_timeout, absl::Minutes(10));
  EXPECT_TRUE(options->node_fanin);
}

TEST_F(JobOptionsTest, ReadsTheVariablesOfCredentials) {
  const auto options = From({{"MUSTER_TOKEN_FILE", "token"},
                             {"MUSTER_TLS_CA", "ca"},
                             {"MUSTER_TLS_CERT", "cert"},
                             {"MUSTER_TLS_KEY", "key"},
                             {"MUSTER_TLS_SERVER_NAME", "head"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->token_file, "token");
  EXPECT_EQ(options->tls_ca, "ca");
  EXPECT_EQ(options->tls_cert, "cert");
  EXPECT_EQ(options->tls_key, "key");
  EXPECT_EQ(options->tls_server_name, "head");
  ExpectMalformed("MUSTER_TOKEN_FILE", "", "token file");
  EXPECT_THAT(std::string(From({{"MUSTER_TLS_CERT", "cert"}}).status().message()),
              HasSubstr("MUSTER_TLS_KEY"));
}

TEST_F(JobOptionsTest, ReadsEveryVariable) {
  const auto options = From({{"MUSTER_COORDINATOR", "[::1]:7370"},
                             {"MUSTER_JOB", "run-7"},
                             {"MUSTER_WORLD_SIZE", "8"},
                             {"MUSTER_RANK", "3"},
                             {"MUSTER_LOCAL_RANK", "1"},
                             {"MUSTER_NODE_RANK", "2"},
                             {"MUSTER_NODE_ID", "node-a"},
                             {"MUSTER_TOPOLOGY", "zone/rack"},
                             {"MUSTER_PROCESS_SECRET", "00112233445566778899aabbccddeeff"},
                             {"MUSTER_TIMEOUT", "90s"},
                             {"MUSTER_COORDINATOR_TIMEOUT", "2m"},
                             {"MUSTER_NODE_FANIN", "0"}});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->coordinator, "[::1]:7370");
  EXPECT_EQ(options->job, "run-7");
  EXPECT_EQ(options->world_size, 8);
  EXPECT_EQ(options->rank, 3);
  EXPECT_EQ(options->local_rank, 1);
  EXPECT_EQ(options->node_rank, 2);
  EXPECT_EQ(options->node_id, "node-a");
  EXPECT_EQ(options->topology, "zone/rack");
  EXPECT_EQ(options->process_secret, "00112233445566778899aabbccddeeff");
  EXPECT_EQ(options->timeout, absl::Seconds(90));
  EXPECT_EQ(options->coordinator_timeout, absl::Minutes(2));
  EXPECT_FALSE(options->node_fanin);
}

TEST_F(JobOptionsTest, AMalformedSecretIsNotPrinted) {
  const absl::Status status = From({{"MUSTER_PROCESS_SECRET", "geheim"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("MUSTER_PROCESS_SECRET"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("32 hexadecimal digits"));
  EXPECT_THAT(std::string(status.message()), ::testing::Not(HasSubstr("geheim")));
}

TEST_F(JobOptionsTest, SlurmsJobAndRestartsNameTheJob) {
  EXPECT_EQ(From({{"SLURM_JOB_ID", "77"}})->job, "slurm-77-0");
  EXPECT_EQ(From({{"SLURM_JOB_ID", "77"}, {"SLURM_RESTART_COUNT", "2"}})->job, "slurm-77-2");
  EXPECT_EQ(From({{"SLURM_JOB_ID", "77"}, {"MUSTER_JOB", "mine"}})->job, "mine");
}

TEST_F(JobOptionsTest, APodsPlaceIncludesTheCoordinator) {
  const std::map<std::string, std::string> kubeflow = {{"PET_NNODES", "4"},
                                                       {"PET_NPROC_PER_NODE", "1"},
                                                       {"PET_NODE_RANK", "2"},
                                                       {"PET_MASTER_ADDR", "train-0.train"},
                                                       {"PET_MASTER_PORT", "29400"}};
  const auto trained = From(kubeflow);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->coordinator, "train-0.train:29400");
  EXPECT_EQ(trained->rank, 2);
  EXPECT_EQ(trained->world_size, 4);
  const auto group = From({{"LWS_GROUP_SIZE", "3"},
                           {"LWS_WORKER_INDEX", "1"},
                           {"LWS_LEADER_ADDRESS", "lws-0.lws.default"}});
  ASSERT_TRUE(group.ok()) << group.status();
  EXPECT_EQ(group->coordinator, "lws-0.lws.default:7370");
  EXPECT_EQ(group->rank, 1);
  EXPECT_EQ(group->world_size, 3);
  std::map<std::string, std::string> own = kubeflow;
  own["MUSTER_COORDINATOR"] = "musterd:7370";
  EXPECT_EQ(From(own)->coordinator, "musterd:7370");
}

TEST_F(JobOptionsTest, ASinglePodNeedsNoCoordinator) {
  const auto alone = From({{"PET_NNODES", "1"},
                           {"PET_NODE_RANK", "0"},
                           {"PET_MASTER_ADDR", "train-0.train"},
                           {"PET_MASTER_PORT", "29400"}});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(alone->coordinator, "");
}

// PyTorch's own store listens on that port.
TEST_F(JobOptionsTest, ThePortOfTorchrunsStoreIsNotTheCoordinators) {
  const auto options = From({{"PET_NNODES", "2"},
                             {"PET_NODE_RANK", "1"},
                             {"PET_MASTER_ADDR", "train-0.train"},
                             {"PET_MASTER_PORT", "29400"},
                             {"RANK", "1"},
                             {"WORLD_SIZE", "2"}});
  EXPECT_EQ(options.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(options.status().message()), HasSubstr("MUSTER_COORDINATOR is not set"));
}

TEST_F(JobOptionsTest, MalformedVariablesAreNamed) {
  ExpectMalformed("MUSTER_COORDINATOR", "", "host:port");
  ExpectMalformed("MUSTER_COORDINATOR", "localhost", "host:port");
  ExpectMalformed("MUSTER_COORDINATOR", "localhost:99999", "65535");
  ExpectMalformed("MUSTER_COORDINATOR", "::1:7370", "[ipv6]:port");
  ExpectMalformed("MUSTER_JOB", "", "job");
  ExpectMalformed("MUSTER_WORLD_SIZE", "0", "at least 1");
  ExpectMalformed("MUSTER_WORLD_SIZE", "4x", "number of processes");
  ExpectMalformed("MUSTER_WORLD_SIZE", " 4", "number of processes");
  ExpectMalformed("MUSTER_WORLD_SIZE", "99999999999", "number of processes");
  ExpectMalformed("MUSTER_RANK", "-1", "at least 0");
  ExpectMalformed("MUSTER_RANK", "", "rank");
  ExpectMalformed("MUSTER_LOCAL_RANK", "one", "rank");
  ExpectMalformed("MUSTER_NODE_RANK", "1.5", "rank");
  ExpectMalformed("MUSTER_NODE_ID", "", "node");
  ExpectMalformed("MUSTER_TOPOLOGY", "", "zone");
  ExpectMalformed("MUSTER_TIMEOUT", "30", "duration");
  ExpectMalformed("MUSTER_TIMEOUT", "-3s", "positive");
  ExpectMalformed("MUSTER_TIMEOUT", "inf", "finite");
  ExpectMalformed("MUSTER_COORDINATOR_TIMEOUT", "0", "positive");
  ExpectMalformed("MUSTER_NODE_FANIN", "no", "0 or 1");
}

TEST_F(JobOptionsTest, ControlCharactersAreNamed) {
  const absl::Status status =
      From({{"MUSTER_COORDINATOR", "h:1"}, {"MUSTER_NODE_ID", "a\nb"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("MUSTER_NODE_ID"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("control character at position 1"));
}

TEST_F(JobOptionsTest, RankOutsideTheWorldIsRefused) {
  const absl::Status status =
      From({{"MUSTER_COORDINATOR", "h:1"}, {"MUSTER_RANK", "4"}, {"MUSTER_WORLD_SIZE", "4"}})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("MUSTER_RANK is 4 but MUSTER_WORLD_SIZE is 4"));
}

TEST_F(JobOptionsTest, SeveralProcessesWithoutACoordinatorAreRefused) {
  for (const char* variable : {"MUSTER_WORLD_SIZE", "WORLD_SIZE"}) {
    const absl::Status status = From({{variable, "2"}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(variable) + " says"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("MUSTER_COORDINATOR"));
  }
  EXPECT_TRUE(From({{"WORLD_SIZE", "1"}}).ok());
  EXPECT_TRUE(From({{"WORLD_SIZE", "2"}, {"MUSTER_COORDINATOR", "localhost:7370"}}).ok());
}

TEST_F(JobOptionsTest, JoinRefusesSerialModeForOneOfSeveral) {
  JobOptions options;
  options.world_size = 2;
  EXPECT_EQ(Job::Join(options).status().code(), absl::StatusCode::kFailedPrecondition);
  options = {};
  options.rank = 1;
  EXPECT_EQ(Job::Join(options).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(JobOptionsTest, JoinReturnsTheErrorOfItsOptions) {
  setenv("MUSTER_RANK", "first", 1);
  EXPECT_THAT(std::string(Job::Join(JobOptions::FromEnvironment()).status().message()),
              HasSubstr("MUSTER_RANK is 'first'"));
}

TEST_F(JobOptionsTest, ValidateNamesTheField) {
  JobOptions options;
  options.timeout = absl::InfiniteDuration();
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("JobOptions::timeout"));
  options = {};
  options.rank = -2;
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("JobOptions::rank"));
  options = {};
  options.job = "";
  EXPECT_THAT(std::string(options.Validate().message()), HasSubstr("JobOptions::job"));
}

}  // namespace
}  // namespace muster
