#ifndef MUSTER_SERVER_SERVICE_CLAIM_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_CLAIM_CONVERSION_H_

#include "muster/v1/coordinator.pb.h"
#include "server/core/claim.h"
#include "server/service/request_reader.h"

namespace muster::service {

// What is malformed in itself is noted in the Reader; the rest is the core's to judge.
core::Claim ReadClaim(v1::Claim&& in, Reader& r);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CLAIM_CONVERSION_H_
