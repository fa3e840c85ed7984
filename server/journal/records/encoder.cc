#include "server/journal/records/encoder.h"

#include <algorithm>
#include <utility>

#include "common/rpc/overloaded.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "server/journal/records/digest.h"
#include "server/journal/records/options_conversion.h"

namespace muster::journal {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Returns the tag of a field. All field numbers here are below 16, so a tag has one byte.
constexpr uint8_t TagOf(int field, WireFormatLite::WireType type) {
  return static_cast<uint8_t>(field << 3 | type);
}
constexpr uint8_t VarintTag(int field) { return TagOf(field, WireFormatLite::WIRETYPE_VARINT); }
constexpr uint8_t Fixed32Tag(int field) { return TagOf(field, WireFormatLite::WIRETYPE_FIXED32); }
constexpr uint8_t BytesTag(int field) {
  return TagOf(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
}

// The encoding of a Step's numbers, which precede its other fields. The generated code would take
// three times as long, because it fills in a message first.
class NumberFields {
 public:
  void Add(int field, uint64_t value) {
    if (value == 0) return;
    *end_++ = VarintTag(field);
    end_ = CodedOutputStream::WriteVarint64ToArray(value, end_);
  }
  void AddFixed(int field, uint32_t value) {
    if (value == 0) return;
    *end_++ = Fixed32Tag(field);
    end_ = CodedOutputStream::WriteLittleEndian32ToArray(value, end_);
  }
  absl::string_view bytes() const {
    return {reinterpret_cast<const char*>(bytes_), static_cast<size_t>(end_ - bytes_)};
  }

 private:
  static constexpr size_t kMaxBytes = 3 * 11 + 2 * 5;
  uint8_t bytes_[kMaxBytes];
  uint8_t* end_ = bytes_;
};

size_t SizeOfField(size_t length) { return 1 + CodedOutputStream::VarintSize64(length) + length; }

uint8_t* WriteLength(int field, size_t length, uint8_t* to) {
  *to++ = BytesTag(field);
  return CodedOutputStream::WriteVarint64ToArray(length, to);
}

uint8_t* WriteBytes(absl::string_view bytes, uint8_t* to) {
  return std::copy(bytes.begin(), bytes.end(), to);
}

InputKind KindOf(const StepInput& step) {
  if (step.kept != nullptr) return step.kept->kind;
  return std::visit(
      Overloaded{
          [](const core::CallCancelled&) { return INPUT_KIND_CANCEL; },
          [](const core::StreamClosed&) { return INPUT_KIND_STREAM_CLOSED; },
          [](const core::DrainBegun&) { return INPUT_KIND_DRAIN; },
          [](const core::DeadlineReached&) { return INPUT_KIND_TICK; },
          [](const core::VerdictFound&) { return INPUT_KIND_VERDICT; },
          [](const core::StoreLeft&) { return INPUT_KIND_STORE_LEFT; },
          [](const auto&) { return INPUT_KIND_UNSPECIFIED; },  // a request that was not kept
      },
      step.input);
}

std::string ReasonOf(const core::Input& input) {
  if (const auto* drain = std::get_if<core::DrainBegun>(&input)) return drain->reason;
  if (const auto* verdict = std::get_if<core::VerdictFound>(&input)) return verdict->text;
  return "";
}

// Encodes the fields that few steps have.
std::string EncodeRareFields(const StepInput& step, absl::Span<const uint64_t> draws) {
  const KeptRequest* const kept = step.kept;
  const std::string reason = ReasonOf(step.input);
  const bool plain = kept == nullptr || (kept->payloads.empty() && kept->incarnation.empty());
  if (plain && draws.empty() && reason.empty()) return "";
  Step rest;
  rest.mutable_draws()->Add(draws.begin(), draws.end());
  rest.set_reason(reason);
  if (plain) return rest.SerializeAsString();
  rest.set_incarnation(kept->incarnation);
  for (const PayloadSummary& summary : kept->payloads) {
    Payload* const payload = rest.add_payloads();
    payload->set_size_bytes(summary.size);
    payload->set_fingerprint(summary.fingerprint);
  }
  return rest.SerializeAsString();
}

}  // namespace

void Encoder::Append(Record record, std::string* out) {
  Block block;
  *block.add_records() = std::move(record);
  block.AppendToString(out);
}

void Encoder::AppendStart(const core::Options& options, core::Time now, std::string* out) {
  Record record;
  Start& start = *record.mutable_start();
  *start.mutable_time() = ToProto(now);
  *start.mutable_options() = ToProto(options);
  start.set_musterd(options.daemon_version);
  last_ = FromProto(start.time());
  Append(std::move(record), out);
}

void Encoder::AppendStep(const StepInput& step, core::Time now, absl::Span<const uint64_t> draws,
                         const core::Effects& effects, std::string* out) {
  const int64_t elapsed = std::max<int64_t>(0, absl::ToInt64Nanoseconds(now - last_));
  last_ += absl::Nanoseconds(elapsed);
  const Digest digest = DigestOf(effects);
  NumberFields numbers;
  numbers.Add(Step::kKindFieldNumber, KindOf(step));
  numbers.Add(Step::kWaiterFieldNumber, step.id);
  numbers.Add(Step::kElapsedNanosFieldNumber, elapsed);
  numbers.AddFixed(Step::kAnswersFieldNumber, digest.answers);
  numbers.AddFixed(Step::kTextsFieldNumber, digest.texts);
  const std::string rest = EncodeRareFields(step, draws);
  const absl::string_view request =
      step.kept == nullptr ? absl::string_view() : absl::string_view(step.kept->bytes);
  const size_t step_size = numbers.bytes().size() + SizeOfField(request.size()) + rest.size();
  const size_t begin = out->size();
  out->resize(begin + SizeOfField(SizeOfField(step_size)));
  auto* to = reinterpret_cast<uint8_t*>(&(*out)[begin]);
  to = WriteLength(Block::kRecordsFieldNumber, SizeOfField(step_size), to);
  to = WriteLength(Record::kStepFieldNumber, step_size, to);
  to = WriteBytes(numbers.bytes(), to);
  to = WriteLength(Step::kRequestFieldNumber, request.size(), to);
  to = WriteBytes(request, to);
  WriteBytes(rest, to);
}

Record Encoder::BeginCheckpoint(const core::Options& options, core::Time now, uint64_t steps) {
  Record record;
  Checkpoint& checkpoint = *record.mutable_checkpoint();
  *checkpoint.mutable_time() = ToProto(now);
  *checkpoint.mutable_options() = ToProto(options);
  checkpoint.set_steps(steps);
  checkpoint.set_musterd(options.daemon_version);
  last_ = FromProto(checkpoint.time());
  return record;
}

void Encoder::AppendEnd(absl::string_view reason, uint64_t missing_steps, std::string* out) {
  Record record;
  record.mutable_end()->set_reason(std::string(reason));
  record.mutable_end()->set_missing_steps(missing_steps);
  Append(std::move(record), out);
}

}  // namespace muster::journal
