#ifndef MUSTER_VERSION_H_
#define MUSTER_VERSION_H_

#include "muster/cxx17.h"

// Version of the SDK; CHANGELOG.md says what changed.
#define MUSTER_VERSION "0.1.0"

#endif  // MUSTER_VERSION_H_
