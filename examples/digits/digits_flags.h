#ifndef MUSTER_EXAMPLES_DIGITS_DIGITS_FLAGS_H_
#define MUSTER_EXAMPLES_DIGITS_DIGITS_FLAGS_H_

#include <optional>
#include <string>

#include "examples/digits/trainer.h"

namespace digits {

struct Flags {
  TrainingOptions training;
  std::string data;     // .csv or .csv.gz
  std::string backend;  // empty: the SDK chooses
  std::string json;     // empty: not written
  std::string save;     // empty: not written
};

// Parses the command line into `flags`. Returns the status to exit with at once, after --help or
// an error, which has then been printed; else nothing.
std::optional<int> ParseFlags(int argc, char** argv, Flags* flags);

}  // namespace digits

#endif  // MUSTER_EXAMPLES_DIGITS_DIGITS_FLAGS_H_
