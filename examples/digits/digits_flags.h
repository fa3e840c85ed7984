#ifndef MUSTER_EXAMPLES_DIGITS_DIGITS_FLAGS_H_
#define MUSTER_EXAMPLES_DIGITS_DIGITS_FLAGS_H_

#include <optional>
#include <string>

#include "examples/digits/trainer.h"

namespace digits {

struct Flags {
  TrainingOptions training;
  std::string data;     // .csv or .csv.gz
  std::string backend;  // empty if the SDK chooses
  std::string json;     // empty if not to be written
  std::string save;     // empty if not to be written
};

// Parses the command line into `flags`. After --help, or an error, which it prints, returns the
// status to exit with. Otherwise returns nullopt.
std::optional<int> ParseFlags(int argc, char** argv, Flags* flags);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_DIGITS_FLAGS_H_
