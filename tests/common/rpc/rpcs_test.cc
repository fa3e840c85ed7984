// Tests that the table of RPCs agrees with the service's descriptor.
#include "common/rpc/rpcs.h"

#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using MemberRequest = MemberRequests::Into<std::variant>;
using MemberResponse = MemberRequests::Map<ResponseOf>::Into<std::variant>;

template <typename... Requests>
std::vector<std::string> NamesOf(TypeList<Requests...>) {
  return {Rpc<Requests>::kName...};
}

TEST(RpcsTest, RowsMatchTheMethodsOfTheService) {
  const google::protobuf::ServiceDescriptor* const service =
      v1::JoinRequest::descriptor()->file()->FindServiceByName("CoordinatorService");
  ASSERT_NE(service, nullptr);
  std::vector<std::string> methods;
  for (int i = 0; i < service->method_count(); ++i) methods.push_back(service->method(i)->name());
  EXPECT_EQ(NamesOf(AllRequests()), methods);
}

TEST(RpcsTest, RequestMapsToItsResponse) {
  EXPECT_TRUE((std::is_same_v<ResponseOf<v1::JoinRequest>, v1::JoinResponse>));
  EXPECT_TRUE((std::is_same_v<ResponseOf<v1::AttachRequest>, v1::AttachResponse>));
  EXPECT_TRUE(Rpc<v1::AttachRequest>::kStreams);
}

TEST(RpcsTest, ResponsesAreInTheOrderOfRequests) {
  const MemberRequest request = v1::LeaveRequest();
  const MemberResponse response = v1::LeaveResponse();
  EXPECT_EQ(request.index(), response.index());
  EXPECT_EQ(std::variant_size_v<MemberRequest>, std::variant_size_v<MemberResponse>);
}

TEST(RpcsTest, ListsUnaryRequestsByCaller) {
  EXPECT_THAT(NamesOf(UnaryRequestsOf<RpcCaller::kLauncher>()),
              testing::ElementsAre("ReportExit", "ReportProcessState", "ReportInquiry"));
  EXPECT_THAT(NamesOf(UnaryRequestsOf<RpcCaller::kAnybody>()),
              testing::ElementsAre("GetStatus", "RequestInquiry", "GetInquiry"));
  EXPECT_THAT(NamesOf(MemberRequests()), testing::Contains("RequestStop"));
  EXPECT_THAT(NamesOf(MemberRequests()), testing::Not(testing::Contains("Attach")));
}

}  // namespace
}  // namespace muster
