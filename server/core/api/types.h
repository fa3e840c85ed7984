#ifndef MUSTER_SERVER_CORE_API_TYPES_H_
#define MUSTER_SERVER_CORE_API_TYPES_H_

// Includes all types of the core: the inputs, the effects, and the types that both are made of.
#include "server/core/api/basic_types.h"
#include "server/core/api/claim.h"
#include "server/core/api/effects.h"
#include "server/core/api/input.h"
#include "server/core/api/job_status.h"
#include "server/core/api/requests.h"

#endif  // MUSTER_SERVER_CORE_API_TYPES_H_
