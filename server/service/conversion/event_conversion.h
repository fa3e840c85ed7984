#ifndef MUSTER_SERVER_SERVICE_CONVERSION_EVENT_CONVERSION_H_
#define MUSTER_SERVER_SERVICE_CONVERSION_EVENT_CONVERSION_H_

#include "muster/v1/coordinator.pb.h"
#include "server/core/api/options.h"
#include "server/core/api/types.h"

namespace muster::service {

// Converts an event of the core to a message of the Attach stream. Ages are relative to `now`.
// `options` are the daemon's; members are told some of them.
v1::AttachResponse ToProto(const core::Event& event, core::Time now, const core::Options& options);

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_CONVERSION_EVENT_CONVERSION_H_
