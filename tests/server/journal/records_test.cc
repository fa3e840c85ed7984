// Records and the encoding of their parts.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/journal/records/encoder.h"
#include "server/journal/records/kept_request.h"
#include "server/journal/records/options_conversion.h"
#include "server/journal/records/synthetic_payloads.h"

namespace muster::journal {
namespace {

const core::Time kNow = absl::FromUnixSeconds(1700000000) + absl::Nanoseconds(123456789);

TEST(EncoderTest, ProtobufParsesItsOutput) {
  Encoder encoder;
  std::string bytes;
  encoder.AppendStart(core::Options(), kNow, &bytes);
  KeptRequest request;
  request.kind = INPUT_KIND_BROADCAST;
  request.bytes = "some bytes";
  request.payloads = {{300, 77}};
  request.incarnation = "whose";
  core::Effects effects;
  effects.replies.push_back({5, absl::OkStatus(), {}});
  effects.log.push_back({core::Severity::kInfo, "a line"});
  encoder.AppendStep({1234567, core::CollectiveRequest(), &request}, kNow + absl::Nanoseconds(1001),
                     {{9, 10}}, effects, &bytes);
  encoder.AppendStep({0, core::DeadlineReached()}, kNow + absl::Seconds(2), {}, {}, &bytes);
  Block block;
  ASSERT_TRUE(block.ParseFromString(bytes));
  ASSERT_EQ(block.records_size(), 3);
  const Step& step = block.records(1).step();
  EXPECT_EQ(step.kind(), INPUT_KIND_BROADCAST);
  EXPECT_EQ(step.waiter(), 1234567u);
  EXPECT_EQ(step.elapsed_nanos(), 1001u);
  EXPECT_EQ(step.request(), "some bytes");
  EXPECT_EQ(step.payloads(0).size_bytes(), 300u);
  EXPECT_EQ(step.payloads(0).fingerprint(), 77u);
  EXPECT_EQ(step.draws(1), 10u);
  EXPECT_EQ(step.incarnation(), "whose");
  EXPECT_NE(step.answers(), 0u);
  EXPECT_NE(step.texts(), 0u);
  const Step& tick = block.records(2).step();
  EXPECT_EQ(tick.kind(), INPUT_KIND_TICK);
  EXPECT_EQ(tick.elapsed_nanos(), 1999998999u);
  EXPECT_EQ(tick.answers() + tick.texts(), 0u);
}

TEST(OptionsConversionTest, RoundTripsAllOptions) {
  core::Options options;
  options.job_id = "job";
  options.world_size = 1;
  options.min_world_size = 2;
  options.max_world_size = 3;
  options.max_restarts_total = 4;
  options.settle = absl::Milliseconds(5);
  options.rejoin_timeout = absl::Milliseconds(6);
  options.member_grace = absl::Milliseconds(7);
  options.recovery_grace = absl::Milliseconds(8);
  options.stall_warning = absl::Milliseconds(9);
  options.default_wait_timeout = absl::Milliseconds(10);
  options.limits = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21};
  options.daemon_version = "22";
  options.instance = 23;
  const core::Options read = FromProto(ToProto(options));
  EXPECT_EQ(ToProto(read).SerializeAsString(), ToProto(options).SerializeAsString());
  EXPECT_EQ(read.limits.max_name_bytes, 21u);
  EXPECT_EQ(read.limits.max_group_ranks, 18u);
  EXPECT_EQ(read.default_wait_timeout, absl::Milliseconds(10));
  EXPECT_EQ(FromProto(ToProto(kNow)), kNow);
}

TEST(KeptRequestTest, OmitsPayloadsAndSecretsAndRestoresTheMessage) {
  const PayloadHasher hasher;
  v1::NodeCollectiveRequest request;
  request.add_parts()->set_payload("first");
  request.add_parts();
  request.add_parts()->set_payload("first");
  request.add_parts()->set_payload("other");
  const std::string before = request.SerializeAsString();
  const KeptRequest kept = Keep(&request, before, hasher);
  EXPECT_EQ(request.SerializeAsString(), before);
  EXPECT_THAT(kept.bytes, ::testing::Not(::testing::HasSubstr("first")));
  ASSERT_EQ(kept.payloads.size(), 4u);
  EXPECT_EQ(kept.payloads[0].fingerprint, kept.payloads[2].fingerprint);
  EXPECT_NE(kept.payloads[0].fingerprint, kept.payloads[3].fingerprint);
  EXPECT_EQ(kept.payloads[1].size, 0u);
  // Another daemon has another key.
  EXPECT_NE(Keep(&request, before, PayloadHasher()).payloads[0].fingerprint,
            kept.payloads[0].fingerprint);

  v1::AttachRequest attach;
  attach.set_secret("sixteen bytes...");
  const KeptRequest of_attach = Keep(&attach, attach.SerializeAsString(), hasher);
  EXPECT_EQ(attach.secret(), "sixteen bytes...");
  EXPECT_THAT(of_attach.bytes, ::testing::Not(::testing::HasSubstr("sixteen")));
  EXPECT_EQ(of_attach.incarnation, IncarnationOf("sixteen bytes..."));

  v1::BarrierRequest barrier;
  barrier.mutable_context()->set_label("x");
  EXPECT_EQ(Keep(&barrier, "as it came", hasher).bytes, "as it came");
  EXPECT_EQ(Keep(&barrier, "", hasher).bytes, barrier.SerializeAsString());
}

TEST(KeptRequestTest, OfTheStoreKeepsKeysAndNumbersAndOmitsOtherValues) {
  const PayloadHasher hasher;
  v1::StoreRequest request;
  request.mutable_operation()->mutable_set()->set_key("name");
  request.mutable_operation()->mutable_set()->set_value("private");
  const std::string before = request.SerializeAsString();
  KeptRequest kept = Keep(&request, before, hasher);
  EXPECT_EQ(kept.kind, INPUT_KIND_STORE);
  EXPECT_EQ(request.SerializeAsString(), before);
  EXPECT_THAT(kept.bytes, ::testing::HasSubstr("name"));
  EXPECT_THAT(kept.bytes, ::testing::Not(::testing::HasSubstr("private")));
  ASSERT_EQ(kept.payloads.size(), 1u);
  EXPECT_EQ(kept.payloads[0].size, 7u);

  request.mutable_operation()->mutable_set()->set_value("-42");
  kept = Keep(&request, "as it came", hasher);
  EXPECT_EQ(kept.bytes, "as it came");
  EXPECT_TRUE(kept.payloads.empty());

  request.mutable_open()->set_secret("sixteen bytes...");
  kept = Keep(&request, request.SerializeAsString(), hasher);
  EXPECT_THAT(kept.bytes, ::testing::Not(::testing::HasSubstr("sixteen")));
  EXPECT_EQ(kept.incarnation, IncarnationOf("sixteen bytes..."));

  v1::StoreEntry* const entry = request.mutable_entries()->add_entries()->mutable_entry();
  entry->mutable_queue()->add_elements("first");
  entry->mutable_queue()->add_elements("7");
  entry->add_results()->set_value("popped");
  kept = Keep(&request, "", hasher);
  EXPECT_EQ(kept.payloads.size(), 2u);
  EXPECT_THAT(kept.bytes, ::testing::Not(::testing::HasSubstr("popped")));
}

TEST(SyntheticPayloadsTest, AreEqualForEqualPayloads) {
  SyntheticPayloads synthetic(/*max_bytes=*/100);
  EXPECT_EQ(*synthetic.For({0, 0}), "");
  for (const uint64_t size : {1, 2, 3, 8, 100}) {
    const std::string payload = *synthetic.For({size, 256});
    EXPECT_EQ(payload.size(), size);
    EXPECT_EQ(payload, *synthetic.For({size, 256}));
    EXPECT_NE(payload, *synthetic.For({size, 512}));
  }
  EXPECT_EQ(synthetic.For({101, 1}).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace muster::journal
