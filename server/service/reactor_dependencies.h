#ifndef MUSTER_SERVER_SERVICE_REACTOR_DEPENDENCIES_H_
#define MUSTER_SERVER_SERVICE_REACTOR_DEPENDENCIES_H_

#include "server/service/answers/unread_answer_limiter.h"
#include "server/service/credentials/call_guard.h"
#include "server/service/driver/coordinator_driver.h"

namespace muster::service {

// The objects that every reactor uses. They outlive all reactors.
struct ReactorDependencies {
  CoordinatorDriver* driver;
  UnreadAnswerLimiter* unread;
  CallGuard* guard;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_REACTOR_DEPENDENCIES_H_
