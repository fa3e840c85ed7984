#ifndef MUSTER_SERVER_SERVICE_EVENT_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_EVENT_CONVERSION_H_

#include "muster/v1/coordinator.pb.h"
#include "server/core/options.h"
#include "server/core/types.h"

namespace muster::service {

// An event of the core as Attach's stream carries it. Ages are as of `now`; `options` are the
// daemon's, part of which every member is told.
v1::AttachResponse ToProto(const core::Event& event, core::Time now, const core::Options& options);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_EVENT_CONVERSION_H_
