#ifndef MUSTER_SERVER_SERVICE_CONVERSION_CLAIM_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_CLAIM_CONVERSION_H_

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/claim.h"
#include "server/service/conversion/request_reader.h"

namespace muster::service {

// Converts a claim. Notes malformed fields in the RequestReader. The core judges everything else.
core::Claim ReadClaim(v1::Claim&& in, RequestReader& r);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_CLAIM_CONVERSION_H_
