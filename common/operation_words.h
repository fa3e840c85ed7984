#ifndef MUSTER_COMMON_OPERATION_WORDS_H_
#define MUSTER_COMMON_OPERATION_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

// How the daemon and the SDK name collectives in errors, log lines and status pages. A program
// reads the name of the call that it made:
//
//   Barrier('epoch 3') op 12 of the world
//   AllReduce(sum of int32, 4 bytes) op 13 of the world
//   Communicator::Create() of group 'tp' (ranks 0-1)
//
// The last two are AllGathers on the wire. The SDK puts the call's name into the type name.
namespace muster {

// The type name of a collective that the SDK makes for another call: "Split()", or, with arguments,
// "AllReduce(sum of int32)". `call` has letters, digits, '_' and ':' only.
std::string CallName(absl::string_view call, absl::string_view arguments = "");

// What a message says of a collective. A type name that CallName() made stands in place of kind and
// root.
struct OperationWords {
  absl::string_view kind;  // "AllGather"
  absl::string_view label;
  std::optional<uint64_t> root;  // of kinds that have one
  absl::string_view type_name;
  std::optional<uint64_t> payload_size;
};
std::string DescribeCollective(const OperationWords& operation);

// The name of a group that has the same ranks as the one called `group` (empty: the world), for one
// use by the SDK: "tp (use 2)".
std::string NameOfUse(absl::string_view group, uint64_t number);
// "tp (use 2)" without the use. Other names as they are.
absl::string_view WithoutUse(absl::string_view group);

// The group, in words ("group 'tp (use 2)' (ranks 0-1)"), that the program knows it by: "group 'tp'
// (ranks 0-1)". Other words as they are.
std::string ProgramsGroup(absl::string_view group);

// "Barrier('x') op 3 of the world". `group` is in words: "the world", "group 'tp' (ranks 0-1)". A
// group that NameOfUse() has named stands for the one that the program knows, and its numbers for
// nothing that the program counts: "Communicator::Create() of the world".
std::string DescribeStep(absl::string_view operation, uint64_t sequence, absl::string_view group);

}  // namespace muster

#endif  // MUSTER_COMMON_OPERATION_WORDS_H_
