#ifndef MUSTER_COMMON_PROCESS_EXIT_CODES_H_
#define MUSTER_COMMON_PROCESS_EXIT_CODES_H_

// The exit codes of Muster's programs: docs/exit-codes.md. Programs outside use muster/exit_code.h.
namespace muster::exit_codes {

inline constexpr int kFailed = 1;
inline constexpr int kBadConfiguration = 64;
inline constexpr int kPeerLost = 75;
inline constexpr int kCoordinatorLost = 76;
inline constexpr int kUnhealthyNode = 77;
// A shell's own: the program is there and cannot be executed, or is not there.
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;

}  // namespace muster::exit_codes

#endif  // MUSTER_COMMON_PROCESS_EXIT_CODES_H_
