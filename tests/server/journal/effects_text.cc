#include "tests/server/journal/effects_text.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/rpc/overloaded.h"
#include "muster/v1/coordinator.pb.h"
#include "muster/v1/store.pb.h"
#include "server/service/conversion/event_conversion.h"
#include "server/service/conversion/response_conversion.h"
#include "server/service/conversion/store_response_conversion.h"

namespace muster::journal {
namespace {

std::string Sizes(const core::CollectiveAnswer& answer) {
  std::string text = absl::StrCat(answer.stop_requested ? "stop " : "", "payloads");
  if (answer.payloads == nullptr) return text;
  for (const core::Bytes& payload : *answer.payloads) absl::StrAppend(&text, " ", payload->size());
  return text;
}

std::string Text(const core::NodeAnswer& answer) {
  std::string text = "parts";
  for (const uint32_t part : answer.completed) absl::StrAppend(&text, " ", part);
  return absl::StrCat(text, " ", Sizes(answer.answer));
}

std::string Text(const core::LeaseAnswer& answer) {
  if (const auto* grant = std::get_if<core::LeaseGrant>(&answer)) {
    return absl::StrCat("token ", grant->token);
  }
  const auto& result = std::get<core::LeaseResult>(answer);
  return absl::StrCat("result ", result.token, " ", result.error.ToString(), " ",
                      result.value->size());
}

std::string AnswerText(const core::Answer& answer) {
  return std::visit(
      Overloaded{
          [](const std::monostate&) { return std::string(); },
          [&](const core::JoinAnswer&) {
            return service::WholeResponse<v1::JoinResponse>(answer)->SerializeAsString();
          },
          [](const core::CollectiveAnswer& a) { return Sizes(a); },
          [](const core::NodeAnswer& a) { return Text(a); },
          [](const core::LeaseAnswer& a) { return Text(a); },
          [](const core::ReleaseAnswer& a) {
            return absl::StrCat("settled ", absl::StrJoin(a.settled, " "));
          },
          // The core never gives this answer: inquiries bypass it.
          [](const core::InquiryAnswer&) { return std::string("an inquiry's"); },
          [](const core::ExitAnswer& a) {
            return absl::StrCat(a.without_leave ? "without Leave " : "", a.loss);
          },
      },
      answer);
}

// A replay has other values, of the same sizes.
void ReplaceBySize(v1::StoreResult* result) {
  if (result->has_value()) result->set_value(absl::StrCat(result->value().size(), " bytes"));
}

std::string StoreText(const core::StoreResponse& message, const core::StoreOptions& options) {
  v1::StoreResponse text = service::ToProto(message, options);
  if (text.hold().has_entry()) {
    for (v1::StoreResult& result : *text.mutable_hold()->mutable_entry()->mutable_results()) {
      ReplaceBySize(&result);
    }
  }
  if (text.hold().has_change()) {
    ReplaceBySize(text.mutable_hold()->mutable_change()->mutable_result());
  }
  return absl::StrCat(text.SerializeAsString(), " ", service::SizeOf(message));
}

}  // namespace

std::string EffectsText(const core::Effects& effects, core::Time now,
                        const core::Options& options) {
  std::string text;
  for (const core::Reply& reply : effects.replies) {
    absl::StrAppend(&text, "reply ", reply.waiter, " ", reply.status.ToString(), " ",
                    reply.status.ok() ? AnswerText(reply.answer) : "", "\n");
  }
  for (const core::StreamEvent& event : effects.events) {
    absl::StrAppend(&text, "event ", event.stream, event.urgent ? " urgent " : " ",
                    service::ToProto(*event.event, now, options).SerializeAsString(), "\n");
  }
  for (const core::StoreMessage& message : effects.store) {
    absl::StrAppend(&text, "store ", message.stream, " ", StoreText(message.message, options.store),
                    "\n");
  }
  for (const core::StreamEnd& end : effects.ends) {
    absl::StrAppend(&text, "end ", end.stream, " ", end.status.ToString(), "\n");
  }
  for (const core::LogLine& line : effects.log) {
    absl::StrAppend(&text, "log ", static_cast<int>(line.severity),
                    line.logged_by_launcher ? " told " : " ", line.text, "\n");
  }
  return text;
}

}  // namespace muster::journal
