#ifndef MUSTER_COMMON_NAMES_OPERATION_NAMES_H_
#define MUSTER_COMMON_NAMES_OPERATION_NAMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// Names of collectives in errors, log lines and status pages, for the daemon and the SDK. A program
// should read the name of the call that it made:
//
//   Barrier('epoch 3') op 12 of the world
//   AllReduce(sum of int32, 4 bytes) op 13 of the world
//   Communicator::Create() of group 'tp' (ranks 0-1)
//
// The last two are AllGathers on the wire. The SDK puts the name of the program's call into the
// type name.
namespace muster {

// Returns the type name of a collective that the SDK makes on behalf of another call: "Split()", or
// with arguments "AllReduce(sum of int32)". `call` may have only letters, digits, '_' and ':'.
std::string CallTypeName(absl::string_view call, absl::string_view arguments = "");

// The fields of a collective from which DescribeCollective() makes its name. If CallTypeName()
// made the type name, it replaces kind and root.
struct CollectiveFields {
  absl::string_view kind;  // "AllGather"
  absl::string_view label;
  std::optional<uint64_t> root;  // if the kind has a root
  absl::string_view type_name;
  std::optional<uint64_t> payload_size;
};
std::string DescribeCollective(const CollectiveFields& operation);

// Returns a name for a group with the same ranks as `group` (empty: the world), for one internal
// use by the SDK: "tp (use 2)".
std::string InternalGroupName(absl::string_view group, uint64_t number);
// Returns "tp" for "tp (use 2)", and any other name unchanged.
absl::string_view ProgramGroupName(absl::string_view group);

// Returns the text for the group that the program knows: "group 'tp' (ranks 0-1)" for "group 'tp
// (use 2)' (ranks 0-1)". Other texts are unchanged.
std::string ProgramGroupText(absl::string_view group);

// Returns "Barrier('x') op 3 of the world". `group` is a text: "the world" or "group 'tp' (ranks
// 0-1)". For a group that InternalGroupName() has named, names the program's group and leaves out
// the number, which the program does not count: "Communicator::Create() of the world".
std::string DescribeStep(absl::string_view operation, uint64_t sequence, absl::string_view group);

}  // namespace muster

#endif  // MUSTER_COMMON_NAMES_OPERATION_NAMES_H_
