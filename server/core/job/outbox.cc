#include "server/core/job/outbox.h"

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "server/core/api/validation.h"
#include "server/core/support/bounded_text.h"

namespace muster::core {
namespace {

// Returns the text of an event, or null if it has none.
std::string* TextOf(EpochBroken& event) { return &event.reason; }
std::string* TextOf(GroupFinished& event) { return &event.reason; }
std::string* TextOf(StillWaiting& event) { return &event.text; }
template <class Other>
std::string* TextOf(Other&) {
  return nullptr;
}

}  // namespace

Outbox::Outbox(absl::string_view job_id) : prefix_(absl::StrCat("job '", job_id, "': ")) {}

void Outbox::Reply(WaiterId waiter, const absl::Status& status, Answer answer) {
  effects_.replies.push_back({waiter, WithJob(status), std::move(answer)});
}

void Outbox::EndStream(WaiterId stream, const absl::Status& status) {
  effects_.ends.push_back({stream, WithJob(status)});
}

SharedEvent Outbox::Share(Event event) const {
  std::string* text = std::visit([](auto& e) { return TextOf(e); }, event);
  if (text != nullptr) *text = WithJob(*text);
  return std::make_shared<const Event>(std::move(event));
}

void Outbox::Send(WaiterId stream, SharedEvent event, bool urgent) {
  effects_.events.push_back({stream, std::move(event), urgent});
}

void Outbox::Log(Severity severity, std::string text, bool logged_by_launcher) {
  effects_.log.push_back({severity, std::move(text), logged_by_launcher});
}

std::string Outbox::WithJob(absl::string_view text) const {
  return ShortenedForMetadata(
      absl::StartsWith(text, prefix_) ? std::string(text) : absl::StrCat(prefix_, text),
      kMaxTextBytes);
}

std::string Outbox::WithoutJob(absl::string_view text) const {
  return std::string(absl::StripPrefix(text, prefix_));
}

absl::Status Outbox::WithJob(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), WithJob(status.message()));
}

}  // namespace muster::core
