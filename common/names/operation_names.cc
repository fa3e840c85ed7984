#include "common/names/operation_names.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {
namespace {

constexpr absl::string_view kWorld = "world";
constexpr absl::string_view kUseSuffix = " (use ";
constexpr absl::string_view kGroup = "group '";

// Returns where the arguments of a CallTypeName() begin, or npos for any other type name.
size_t ArgumentsOf(absl::string_view type_name) {
  const size_t open = type_name.find('(');
  if (open == 0 || open == absl::string_view::npos || type_name.back() != ')') {
    return absl::string_view::npos;
  }
  for (const char c : type_name.substr(0, open)) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != ':') return absl::string_view::npos;
  }
  return open + 1;
}

}  // namespace

std::string CallTypeName(absl::string_view call, absl::string_view arguments) {
  return absl::StrCat(call, "(", arguments, ")");
}

std::string DescribeCollective(const CollectiveFields& operation) {
  const size_t arguments = ArgumentsOf(operation.type_name);
  const bool is_call = arguments != absl::string_view::npos;
  absl::string_view type = operation.type_name;
  if (is_call) type = type.substr(arguments, type.size() - arguments - 1);
  std::vector<std::string> parts;
  if (!operation.label.empty()) parts.push_back(absl::StrCat("'", operation.label, "'"));
  if (operation.root && !is_call) parts.push_back(absl::StrCat("root ", *operation.root));
  if (!type.empty()) parts.push_back(std::string(type));
  if (operation.payload_size) parts.push_back(absl::StrCat(*operation.payload_size, " bytes"));
  const absl::string_view name =
      is_call ? operation.type_name.substr(0, arguments - 1) : operation.kind;
  return CallTypeName(name, absl::StrJoin(parts, ", "));
}

std::string InternalGroupName(absl::string_view group, uint64_t number) {
  return absl::StrCat(group.empty() ? kWorld : group, kUseSuffix, number, ")");
}

absl::string_view ProgramGroupName(absl::string_view group) {
  const size_t use = group.rfind(kUseSuffix);
  if (use == absl::string_view::npos || !absl::EndsWith(group, ")")) return group;
  const absl::string_view number =
      group.substr(use + kUseSuffix.size(), group.size() - use - kUseSuffix.size() - 1);
  if (number.empty()) return group;
  for (const char c : number) {
    if (!absl::ascii_isdigit(c)) return group;
  }
  return group.substr(0, use);
}

std::string ProgramGroupText(absl::string_view group) {
  const size_t end = group.rfind('\'');  // end of the name
  if (!absl::StartsWith(group, kGroup) || end < kGroup.size()) return std::string(group);
  const absl::string_view name = group.substr(kGroup.size(), end - kGroup.size());
  const absl::string_view known = ProgramGroupName(name);
  if (known == name) return std::string(group);
  if (known == kWorld) return "the world";
  return absl::StrCat(kGroup, known, group.substr(end));
}

std::string DescribeStep(absl::string_view operation, uint64_t sequence, absl::string_view group) {
  const std::string known = ProgramGroupText(group);
  if (known != group) return absl::StrCat(operation, " of ", known);
  return absl::StrCat(operation, " op ", sequence, " of ", group);
}

}  // namespace muster
