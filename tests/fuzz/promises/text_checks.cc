#include "tests/fuzz/promises/text_checks.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "muster/v1/coordinator.pb.h"

namespace muster::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Enough for four names and call sites of the maximum length.
constexpr size_t kMostTextBytes = 8 * 1024;
constexpr size_t kShown = 200;

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string FindLengthProblem(absl::string_view text) {
  if (text.size() <= kMostTextBytes) return "";
  return absl::StrCat("has ", text.size(), " bytes: ", absl::CHexEscape(text.substr(0, kShown)));
}

std::string FindFieldProblem(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return FindMessageTextProblem(repeated ? reflection.GetRepeatedMessage(message, &field, index)
                                           : reflection.GetMessage(message, &field));
  }
  if (field.type() != FieldDescriptor::TYPE_STRING) return "";
  const std::string text = repeated ? reflection.GetRepeatedString(message, &field, index)
                                    : reflection.GetString(message, &field);
  // An error that a program reports about its own work counts as a payload.
  if (message.GetDescriptor() == v1::WorkError::descriptor()) return "";
  const std::string wrong = FindTextProblem(text);
  return wrong.empty() ? "" : absl::StrCat(field.full_name(), " ", wrong);
}

}  // namespace

std::string FindTextProblem(absl::string_view text) {
  if (std::any_of(text.begin(), text.end(), IsControl)) {
    return absl::StrCat("has control characters: ", absl::CHexEscape(text.substr(0, kShown)));
  }
  return FindLengthProblem(text);
}

std::string FindMessageTextProblem(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string wrong = FindFieldProblem(message, *field, i);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace muster::fuzz
