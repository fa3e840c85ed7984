#ifndef MUSTER_COMMON_TEXT_HEX_H_
#define MUSTER_COMMON_TEXT_HEX_H_

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace muster {

// Returns the bytes that the hexadecimal digits stand for, two digits a byte. The caller checks
// that there are only digits, and an even number. (Debian 12's Abseil and 13's have no such
// function in common that is not deprecated in one of them.)
inline std::string BytesOfHex(absl::string_view digits) {
  const auto value = [](char digit) {
    return absl::ascii_isdigit(static_cast<unsigned char>(digit))
               ? digit - '0'
               : absl::ascii_tolower(static_cast<unsigned char>(digit)) - 'a' + 10;
  };
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  }
  return bytes;
}

}  // namespace muster

#endif  // MUSTER_COMMON_TEXT_HEX_H_
