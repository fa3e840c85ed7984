// Tests that each call of members has its fields in the messages of a stream.
#include "common/rpc/streamed_calls.h"

#include <type_traits>

#include "common/rpc/type_list.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(StreamedCallsTest, EachCallHasARequestAndAResponse) {
  ForEachType(MemberRequests(), [](auto* type) {
    using Request = std::remove_pointer_t<decltype(type)>;
    v1::CallRequest request;
    StreamedCall<Request>::In(&request);
    bool visited = false;
    EXPECT_TRUE(VisitRequest(
        &request, [&](auto* content) { visited = std::is_same_v<decltype(content), Request*>; }));
    EXPECT_TRUE(visited) << Rpc<Request>::kName;

    v1::CallResponse response;
    EXPECT_TRUE(
        (std::is_same_v<decltype(StreamedCall<Request>::In(&response)), ResponseOf<Request>*>));
    StreamedCall<Request>::In(&response);
    EXPECT_EQ(response.response_case(), StreamedCall<Request>::kResponse) << Rpc<Request>::kName;
  });
}

TEST(StreamedCallsTest, AMessageWithoutARequestIsNoCall) {
  v1::CallRequest request;
  EXPECT_FALSE(VisitRequest(&request, [](auto*) { ADD_FAILURE() << "was visited"; }));
}

}  // namespace
}  // namespace muster
