#include "client/src/environment/unknown_variables.h"

#include <atomic>

#include "client/src/environment/variables.h"
#include "common/process/known_variables.h"
#include "muster/log.h"

namespace muster::internal {

void WarnOfUnknownVariables() {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true) || StartedByMuster(ProcessVariables())) return;
  for (const std::string& warning : UnknownVariableWarnings()) Log(LogLevel::kWarning, warning);
}

}  // namespace muster::internal
