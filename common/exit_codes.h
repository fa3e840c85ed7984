#ifndef MUSTER_COMMON_EXIT_CODES_H_
#define MUSTER_COMMON_EXIT_CODES_H_

// What the programs of Muster exit with: docs/exit-codes.md. muster/exit_code.h has them for
// others.
namespace muster::exit_codes {

inline constexpr int kFailed = 1;
inline constexpr int kBadConfiguration = 64;
inline constexpr int kPeerLost = 75;
inline constexpr int kCoordinatorLost = 76;
inline constexpr int kUnhealthyNode = 77;

}  // namespace muster::exit_codes

#endif  // MUSTER_COMMON_EXIT_CODES_H_
