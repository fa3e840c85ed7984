#ifndef MUSTER_SERVER_CORE_TYPES_H_
#define MUSTER_SERVER_CORE_TYPES_H_

// Includes all types of the core: the inputs, the effects, and the types that both are made of.
#include "server/core/claim.h"
#include "server/core/effects.h"
#include "server/core/input.h"
#include "server/core/job_status.h"
#include "server/core/requests.h"
#include "server/core/vocabulary.h"

#endif  // MUSTER_SERVER_CORE_TYPES_H_
