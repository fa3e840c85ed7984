#include "tests/fuzz/message_filler.h"

#include <iterator>
#include <limits>

#include "common/credentials/process_secret.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace muster::fuzz {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr int kProcesses = 5;
constexpr size_t kMaxRepeats = 6;
// The highest number that a claim may name.
constexpr uint64_t kMaxClaimed = uint64_t{1} << 62;

std::string Secret(ByteSource* bytes) {
  if (bytes->OneIn(32)) return bytes->Text(bytes->Below(20));
  return std::string(15, 's') + static_cast<char>('0' + bytes->Below(kProcesses));
}

// Protobuf rejects texts that are not UTF-8.
std::string Ascii(ByteSource* bytes, size_t length) {
  std::string text = bytes->Text(length);
  for (char& c : text) c = static_cast<char>(c & 0x7f);
  return text;
}

// Returns a text that a hostile member might send: up to a MiB of lines, escapes and characters of
// several bytes.
std::string LongText(ByteSource* bytes) {
  static constexpr const char* kPieces[] = {"a",       "\xc3\xa9",         "\n",
                                            "\x1b[2J", "\xf0\x9f\x92\xa5", "x\r"};
  std::string text = kPieces[bytes->Below(std::size(kPieces))];
  const size_t size = size_t{1} << bytes->Below(21);
  while (text.size() < size) text += std::string(text);
  return text;
}

bool HasTexts(const Descriptor& type, int depth) {
  for (int i = 0; i < type.field_count() && depth > 0; ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return true;
    if (field.message_type() != nullptr && HasTexts(*field.message_type(), depth - 1)) return true;
  }
  return false;
}

std::string Name(ByteSource* bytes, const std::string& field) {
  if (bytes->OneIn(16)) {
    const size_t length = bytes->Below(64);
    return bytes->OneIn(4) ? LongText(bytes) : Ascii(bytes, length);
  }
  if (field == "job_id") return bytes->OneIn(16) ? "other" : "job";
  if (field == "node_id") return std::string(1, static_cast<char>('a' + bytes->Below(2)));
  return bytes->OneIn(3) ? "x" : "";
}

uint64_t Number(ByteSource* bytes, const Knowledge& known, const std::string& field) {
  if (field == "token" && !known.tokens.empty() && !bytes->OneIn(4)) {
    return bytes->Pick(known.tokens);
  }
  if (field == "attempt") return bytes->Bits(2);
  if (bytes->OneIn(32)) return bytes->Bits(8);
  if (bytes->OneIn(8)) {
    const uint64_t below = bytes->Below(4);
    return below < 2 ? std::numeric_limits<uint64_t>::max() - below : kMaxClaimed - (below - 2);
  }
  return bytes->Below(4);
}

class Filler {
 public:
  Filler(ByteSource* bytes, const Knowledge& known) : bytes_(bytes), known_(known) {}

  void FillMessage(Message* message, int depth) {
    if (FillWhole(message)) return;
    const Descriptor& type = *message->GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      // Fields of a oneof replace each other, so skip half of them. Then each may be the last.
      const bool choice = field.real_containing_oneof() != nullptr;
      if (choice ? bytes_->OneIn(2) : !bytes_->OneIn(8)) SetField(message, field, depth);
    }
    if (auto* attach = dynamic_cast<v1::AttachRequest*>(message)) MakeOwn(attach);
  }

  // Goes down through nested messages to a random field, and sets it.
  void ChangeField(Message* message) {
    const Descriptor& type = *message->GetDescriptor();
    const Reflection& reflection = *message->GetReflection();
    if (type.field_count() == 0) return;
    const FieldDescriptor& field = *type.field(static_cast<int>(bytes_->Below(type.field_count())));
    const bool deeper = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !bytes_->OneIn(8);
    if (!deeper) {
      if (field.is_repeated()) return AddOne(message, field, 0);
      return SetSingle(message, field, 0);
    }
    if (!field.is_repeated()) return ChangeField(reflection.MutableMessage(message, &field));
    const int size = reflection.FieldSize(*message, &field);
    if (size == 0 || bytes_->OneIn(4)) return AddOne(message, field, 0);
    ChangeField(
        reflection.MutableRepeatedMessage(message, &field, static_cast<int>(bytes_->Below(size))));
  }

  // Goes down in the same way to a text, and makes it long.
  void LengthenText(Message* message) {
    const Descriptor& type = *message->GetDescriptor();
    const Reflection& reflection = *message->GetReflection();
    std::vector<const FieldDescriptor*> fields;
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      const bool text = field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
      const bool deeper =
          field.message_type() != nullptr && HasTexts(*field.message_type(), kDepth);
      if (text || deeper) fields.push_back(&field);
    }
    if (fields.empty()) return;
    const FieldDescriptor& field = *bytes_->Pick(fields);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      return field.is_repeated() ? reflection.AddString(message, &field, LongText(bytes_))
                                 : reflection.SetString(message, &field, LongText(bytes_));
    }
    if (!field.is_repeated()) return LengthenText(reflection.MutableMessage(message, &field));
    if (reflection.FieldSize(*message, &field) == 0) AddOne(message, field, 0);
    if (reflection.FieldSize(*message, &field) == 0) return;
    LengthenText(reflection.MutableRepeatedMessage(message, &field, 0));
  }

 private:
  // Usually makes the identity match the secret. A caller that attaches as another process gets no
  // further.
  void MakeOwn(v1::AttachRequest* request) {
    if (!bytes_->OneIn(8)) {
      request->mutable_member()->set_incarnation(IncarnationOf(request->secret()));
    }
  }

  // Fills messages that only make sense as a whole.
  bool FillWhole(Message* message) {
    if (auto* session = dynamic_cast<v1::SessionId*>(message)) {
      if (known_.sessions.empty() || bytes_->OneIn(16)) return false;
      *session = bytes_->Pick(known_.sessions);
      return true;
    }
    if (auto* epoch = dynamic_cast<v1::EpochId*>(message)) {
      if (known_.epochs.empty() || bytes_->OneIn(16)) return false;
      *epoch = bytes_->Pick(known_.epochs);
      return true;
    }
    if (auto* duration = dynamic_cast<google::protobuf::Duration*>(message)) {
      duration->set_seconds(bytes_->OneIn(16) ? static_cast<int64_t>(bytes_->Bits(8))
                                              : static_cast<int64_t>(bytes_->Below(64)));
      if (bytes_->OneIn(16)) duration->set_nanos(static_cast<int32_t>(bytes_->Bits(4)));
      return true;
    }
    if (auto* time = dynamic_cast<google::protobuf::Timestamp*>(message)) {
      time->set_seconds(static_cast<int64_t>(Number(bytes_, known_, "seconds")));
      return true;
    }
    return FillClaim(dynamic_cast<v1::Claim*>(message));
  }

  // A claim that fits what a member was told gets into the recovery of a restarted coordinator.
  bool FillClaim(v1::Claim* claim) {
    if (claim == nullptr || known_.places.empty() || bytes_->OneIn(4)) return false;
    const v1::JoinResponse& place = bytes_->Pick(known_.places);
    *claim->mutable_epoch() = place.epoch();
    claim->set_rank(place.rank());
    if (bytes_->OneIn(2)) *claim->mutable_roster() = place.roster();
    for (size_t groups = bytes_->Below(3); groups > 0; --groups) {
      FillMessage(claim->add_groups(), 0);
    }
    for (size_t groups = bytes_->Below(3); groups > 0; --groups) {
      FillMessage(claim->add_known_groups(), 0);
    }
    for (size_t leases = bytes_->Below(2); leases > 0; --leases) {
      FillMessage(claim->add_held_leases(), 0);
    }
    return true;
  }

  void SetField(Message* message, const FieldDescriptor& field, int depth) {
    if (!field.is_repeated()) return SetSingle(message, field, depth);
    for (size_t i = bytes_->Below(kMaxRepeats); i > 0; --i) AddOne(message, field, depth);
  }

  void AddOne(Message* message, const FieldDescriptor& field, int depth) {
    const Reflection& reflection = *message->GetReflection();
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth < kDepth) FillMessage(reflection.AddMessage(message, &field), depth + 1);
        return;
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.AddUInt32(message, &field,
                                    static_cast<uint32_t>(Number(bytes_, known_, field.name())));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.AddUInt64(message, &field, Number(bytes_, known_, field.name()));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.AddString(message, &field, Text(field));
      default:
        return;  // other messages are not repeated
    }
  }

  void SetSingle(Message* message, const FieldDescriptor& field, int depth) {
    const Reflection& reflection = *message->GetReflection();
    const auto number = [&] { return Number(bytes_, known_, field.name()); };
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (depth < kDepth) FillMessage(reflection.MutableMessage(message, &field), depth + 1);
        return;
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection.SetString(message, &field, Text(field));
      case FieldDescriptor::CPPTYPE_UINT32:
        return reflection.SetUInt32(message, &field, static_cast<uint32_t>(number()));
      case FieldDescriptor::CPPTYPE_UINT64:
        return reflection.SetUInt64(message, &field, number());
      case FieldDescriptor::CPPTYPE_INT32:
        return reflection.SetInt32(message, &field, static_cast<int32_t>(number()));
      case FieldDescriptor::CPPTYPE_INT64:
        return reflection.SetInt64(message, &field, static_cast<int64_t>(number()));
      case FieldDescriptor::CPPTYPE_BOOL:
        return reflection.SetBool(message, &field, bytes_->OneIn(2));
      case FieldDescriptor::CPPTYPE_ENUM:
        // Sometimes out of range: an open enum carries any number.
        return reflection.SetEnumValue(message, &field, static_cast<int>(bytes_->Below(5)));
      default:
        return;  // the protocol has no floating point
    }
  }

  std::string Text(const FieldDescriptor& field) {
    if (field.name() == "secret") return Secret(bytes_);
    if (field.name() == "incarnation") return IncarnationOf(Secret(bytes_));
    if (field.type() == FieldDescriptor::TYPE_BYTES) return bytes_->Text(bytes_->Below(9));
    return Name(bytes_, field.name());
  }

  static constexpr int kDepth = 5;
  ByteSource* const bytes_;
  const Knowledge& known_;
};

bool ChangeByte(ByteSource* bytes, Message* request) {
  std::string wire = request->SerializeAsString();
  if (wire.empty()) return true;
  wire[bytes->Bits(2) % wire.size()] = static_cast<char>(bytes->Byte());
  return request->ParseFromString(wire);
}

}  // namespace

void Fill(ByteSource* bytes, const Knowledge& known, Message* message) {
  Filler(bytes, known).FillMessage(message, 0);
}

void Mutate(ByteSource* bytes, const Knowledge& known, Message* message) {
  Filler(bytes, known).ChangeField(message);
}

void Lengthen(ByteSource* bytes, const Knowledge& known, Message* message) {
  Filler(bytes, known).LengthenText(message);
}

bool Compose(ByteSource* bytes, const Knowledge& known, absl::FunctionRef<void()> write,
             Message* request) {
  const size_t how = bytes->Below(8);
  if (how == 7) {
    Fill(bytes, known, request);
  } else {
    write();
  }
  if (how == 4) Mutate(bytes, known, request);
  if (how == 5) Lengthen(bytes, known, request);
  return how != 6 || ChangeByte(bytes, request);
}

}  // namespace muster::fuzz
