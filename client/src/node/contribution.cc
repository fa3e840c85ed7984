#include "client/src/node/contribution.h"

#include <cstring>

namespace muster::internal {
namespace {

template <typename Number>
void Append(Number number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof number);
}

void Append(const std::string& text, std::string* out) {
  Append(static_cast<uint64_t>(text.size()), out);
  *out += text;
}

// A reader of appended values. It stops at the first one that is truncated.
class Cursor {
 public:
  explicit Cursor(absl::string_view bytes) : rest_(bytes) {}

  template <typename Number>
  void Read(Number* number) {
    if (!Has(sizeof *number)) return;
    std::memcpy(number, rest_.data(), sizeof *number);
    rest_.remove_prefix(sizeof *number);
  }
  void Read(std::string* text) {
    uint64_t size = 0;
    Read(&size);
    if (!Has(size)) return;
    text->assign(rest_.data(), size);
    rest_.remove_prefix(size);
  }
  // Returns whether every value was complete, and nothing is left over.
  bool AtEnd() const { return is_complete_ && rest_.empty(); }

 private:
  bool Has(uint64_t size) {
    is_complete_ = is_complete_ && size <= rest_.size();
    return is_complete_;
  }

  absl::string_view rest_;
  bool is_complete_ = true;
};

template <typename Value, typename Field>
void ForEachField(Value& c, Field field) {
  field(c.sequence);
  field(c.call);
  field(c.daemon_instance);
  field(c.session_counter);
  field(c.session_key);
  field(c.attempt);
  field(c.wait_nanos);
  field(c.may_commit);
  field(c.stop_asked);
  field(c.posted_at);
  field(c.call_site);
  field(c.payload);
}

}  // namespace

std::string EncodeContribution(const Contribution& contribution) {
  std::string out;
  out.reserve(128 + contribution.call.size() + contribution.payload.size());
  ForEachField(contribution, [&out](const auto& field) { Append(field, &out); });
  return out;
}

std::optional<Contribution> DecodeContribution(absl::string_view bytes) {
  Contribution contribution;
  Cursor cursor(bytes);
  ForEachField(contribution, [&cursor](auto& field) { cursor.Read(&field); });
  if (!cursor.AtEnd()) return std::nullopt;
  return contribution;
}

std::string EncodeResult(const Result& result) {
  std::string out;
  out.reserve(16 + result.answer.size());
  Append(result.sequence, &out);
  Append(result.on_node, &out);
  Append(result.answer, &out);
  return out;
}

std::optional<Result> DecodeResult(absl::string_view bytes) {
  Result result;
  Cursor cursor(bytes);
  cursor.Read(&result.sequence);
  cursor.Read(&result.on_node);
  cursor.Read(&result.answer);
  if (!cursor.AtEnd()) return std::nullopt;
  return result;
}

}  // namespace muster::internal
