#ifndef MUSTER_VERSION_H_
#define MUSTER_VERSION_H_

#include "muster/cxx17.h"

// The version of the SDK. CHANGELOG.md lists the changes.
#define MUSTER_VERSION "0.1.0"

#endif  // MUSTER_VERSION_H_
