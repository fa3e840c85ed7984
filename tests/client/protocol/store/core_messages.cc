#include "tests/client/protocol/store/core_messages.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "common/credentials/process_secret.h"
#include "gtest/gtest.h"
#include "server/core/api/options.h"
#include "server/service/conversion/store_request_conversion.h"
#include "server/service/conversion/store_response_conversion.h"

namespace muster {

core::StoreRequest CoreRequestOf(const v1::StoreRequest& request) {
  v1::StoreRequest copy = request;
  // The clients of tests have readable incarnations, which are no hashes of secrets.
  if (copy.has_open()) {
    copy.mutable_open()->set_incarnation(IncarnationOf(request.open().secret()));
  }
  absl::StatusOr<core::StoreRequest> read = service::FromProto(std::move(copy));
  EXPECT_TRUE(read.ok()) << read.status() << " of " << request.ShortDebugString();
  if (!read.ok()) return {};
  if (auto* const open = std::get_if<core::StoreOpen>(&read->message)) {
    open->incarnation = request.open().incarnation();
  }
  return *std::move(read);
}

v1::StoreResponse WireResponseOf(const core::StoreResponse& response) {
  return *service::WholeResponse(response, core::StoreOptions());
}

v1::StoreEntry WireEntryOf(const core::StoreEntry& entry) {
  core::StoreHold hold;
  hold.content = std::make_shared<const core::StoreEntry>(entry);
  return WireResponseOf(hold).hold().entry();
}

}  // namespace muster
