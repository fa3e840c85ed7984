#include "server/core/formation/formation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::core {
namespace {

bool HasMajority(const FormationInput& in) {
  if (in.previous_size == 0) return true;
  const uint32_t twice = 2 * in.survivors;
  return twice > in.previous_size || (twice == in.previous_size && in.previous_rank_0_came);
}

}  // namespace

FormationDecision DecideFormation(const FormationInput& in) {
  const uint32_t here = in.survivors + in.newcomers;
  const std::string count = absl::StrCat(
      here, " of ", in.places == 0 ? "?" : absl::StrCat(in.places), " members have joined");
  if (in.awaited > 0) {
    return {false, absl::StrCat(count, ", ", in.awaited, " of the previous epoch may still come")};
  }
  if (in.places > 0 && here >= in.places) return {true, "every place is filled"};
  if (in.minimum == 0) return {false, count};
  if (here < in.minimum) return {false, absl::StrCat(count, ", at least ", in.minimum, " must")};
  if (!HasMajority(in)) {
    return {false,
            absl::StrCat(count, ", but only ", in.survivors, " of the ", in.previous_size,
                         " members of the previous epoch: unless all places are filled, more than "
                         "half of those members (or half with rank 0) must go on")};
  }
  if (!in.settled) {
    return {false, absl::StrCat(count, "; others may come within the settle time"), true};
  }
  return {true, absl::StrCat(count, " and nobody else has come within the settle time")};
}

}  // namespace muster::core
