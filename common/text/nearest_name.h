#ifndef MUSTER_COMMON_TEXT_NEAREST_NAME_H_
#define MUSTER_COMMON_TEXT_NEAREST_NAME_H_

#include <string>
#include <vector>

namespace muster {

// Returns the name in `known` that `word` is most likely a misspelling of, or an empty text. A name
// is near if at most one letter in three is added, missing, changed or swapped with the next. Pure.
std::string NearestName(const std::string& word, const std::vector<std::string>& known);

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_NEAREST_NAME_H_
