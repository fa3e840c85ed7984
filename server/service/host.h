#ifndef MUSTER_SERVER_SERVICE_HOST_H_
#define MUSTER_SERVER_SERVICE_HOST_H_

#include "server/service/call_guard.h"
#include "server/service/driver.h"
#include "server/service/unread_answers.h"

namespace muster::service {

// The objects that every reactor uses. They outlive all reactors.
struct Host {
  Driver* driver;
  UnreadAnswers* unread;
  CallGuard* guard;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_HOST_H_
