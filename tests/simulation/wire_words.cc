#include "tests/simulation/wire_words.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/simulation/network.h"

namespace muster::simulation {
namespace {

// "muster.v1.BarrierRequest" -> "Barrier", and its content on one line.
std::string Name(const google::protobuf::Message& message) {
  std::string name = message.GetDescriptor()->name();
  for (const char* suffix : {"Request", "Response"})
    name = absl::StrReplaceAll(name, {{suffix, ""}});
  return name;
}

}  // namespace

std::string Words(const Rpc& rpc) {
  const google::protobuf::Message* message = std::get_if<v1::AttachRequest>(&rpc.request);
  std::string content;
  if (message != nullptr) {
    const auto& attach = std::get<v1::AttachRequest>(rpc.request);
    content = attach.claim().ShortDebugString();
  } else {
    std::visit([&](const auto& request) { message = &request; },
               std::get<internal::Request>(rpc.request));
    content = message->ShortDebugString();
  }
  return absl::StrCat("process ", rpc.process, " attempt ", rpc.attempt, " ", Name(*message),
                      rpc.duplicate ? " (duplicate)" : "", " {", content, "}");
}

std::string Words(const v1::AttachResponse& response) { return response.ShortDebugString(); }

}  // namespace muster::simulation
