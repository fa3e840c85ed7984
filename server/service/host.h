#ifndef MUSTER_SERVER_SERVICE_HOST_H_
#define MUSTER_SERVER_SERVICE_HOST_H_

#include "server/service/answers/unread_answers.h"
#include "server/service/credentials/call_guard.h"
#include "server/service/driver/driver.h"

namespace muster::service {

// The objects that every reactor uses. They outlive all reactors.
struct Host {
  Driver* driver;
  UnreadAnswers* unread;
  CallGuard* guard;
};

}  // namespace muster::service

#endif  // MUSTER_SERVER_SERVICE_HOST_H_
