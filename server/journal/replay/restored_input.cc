#include "server/journal/replay/restored_input.h"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/credentials/process_secret.h"
#include "common/rpc/rpcs.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"
#include "server/journal/records/kept_request.h"
#include "server/service/conversion/request_conversion.h"
#include "server/service/conversion/store_request_conversion.h"

namespace muster::journal {
namespace {

absl::Status Unreadable(const Step& step, absl::string_view why) {
  return absl::DataLossError(
      absl::StrCat("a ", InputKind_Name(step.kind()), " of the journal cannot be read: ", why));
}

// Returns a made-up secret. The journal does not contain the real one. SetOwner() replaces the
// made-up owner with the incarnation that the journal has.
std::string SyntheticSecret() { return std::string(kProcessSecretBytes, '\1'); }

void ActAsOwner(v1::AttachRequest* request) {
  request->mutable_member()->set_incarnation(IncarnationOf(request->secret()));
}
void ActAsOwner(v1::StoreRequest* request) {
  request->mutable_open()->set_incarnation(IncarnationOf(request->open().secret()));
}
template <typename Wire>
void ActAsOwner(Wire*) {}

void SetOwner(const std::string& owner, core::AttachRequest* request) {
  request->member.incarnation = owner;
}
void SetOwner(const std::string& owner, core::ExitReport* report) { report->incarnation = owner; }
void SetOwner(const std::string& owner, core::ProcessStateReport* report) {
  report->incarnation = owner;
}
void SetOwner(const std::string& owner, core::StoreRequest* request) {
  auto* const open = std::get_if<core::StoreOpen>(&request->message);
  if (open != nullptr) open->incarnation = owner;
}
template <typename CoreRequest>
void SetOwner(const std::string&, CoreRequest*) {}

template <typename Wire>
absl::Status PutPayloads(const Step& step, SyntheticPayloads* synthetic, Wire* message) {
  int next = 0;
  absl::Status status;
  ForEachPayload(message, [&](std::string* payload) {
    if (next >= step.payloads_size() || !status.ok()) return;
    const Payload& summary = step.payloads(next++);
    absl::StatusOr<std::string> payload_bytes =
        synthetic->For({summary.size_bytes(), summary.fingerprint()});
    status = payload_bytes.status();
    if (payload_bytes.ok()) *payload = *std::move(payload_bytes);
  });
  return status;
}

template <typename Wire>
absl::StatusOr<core::Input> RestoreAs(const Step& step, SyntheticPayloads* synthetic) {
  Wire message;
  if (!message.ParseFromString(step.request())) return Unreadable(step, "its bytes are no message");
  if (std::string* const secret = SecretOf(&message); secret != nullptr) {
    *secret = SyntheticSecret();
    ActAsOwner(&message);
  }
  if (absl::Status s = PutPayloads(step, synthetic, &message); !s.ok()) return s;
  auto read = service::FromProto(std::move(message));
  if (!read.ok()) return Unreadable(step, read.status().message());
  SetOwner(step.incarnation(), &*read);
  return core::Input(*std::move(read));
}

// Restores the request of a step. Returns nullopt if the step's kind has no request.
std::optional<absl::StatusOr<core::Input>> RestoreRequest(const Step& step,
                                                          SyntheticPayloads* synthetic) {
  std::optional<absl::StatusOr<core::Input>> restored;
  ForEachType(AllRequests(), [&](auto* type) {
    using Wire = std::remove_pointer_t<decltype(type)>;
    if constexpr (kKindOf<Wire> != INPUT_KIND_UNSPECIFIED) {
      if (step.kind() == kKindOf<Wire>) restored = RestoreAs<Wire>(step, synthetic);
    }
  });
  return restored;
}

}  // namespace

absl::StatusOr<core::Input> Restore(const Step& step, SyntheticPayloads* synthetic) {
  switch (step.kind()) {
    case INPUT_KIND_CANCEL:
      return core::CallCancelled();
    case INPUT_KIND_STREAM_CLOSED:
      return core::StreamClosed();
    case INPUT_KIND_DRAIN:
      return core::DrainBegun{step.reason()};
    case INPUT_KIND_TICK:
      return core::DeadlineReached();
    case INPUT_KIND_VERDICT:
      return core::VerdictFound{step.reason()};
    case INPUT_KIND_STORE:
      return RestoreAs<v1::StoreRequest>(step, synthetic);
    case INPUT_KIND_STORE_LEFT:
      return core::StoreLeft();
    default:
      break;
  }
  if (auto request = RestoreRequest(step, synthetic)) return *std::move(request);
  return absl::DataLossError(
      absl::StrCat("the journal has a step of an unknown kind, ", step.kind()));
}

}  // namespace muster::journal
