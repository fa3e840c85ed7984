#include "client/launcher/mpi_server.h"

#include <utility>
#include <variant>

#include "client/launcher/pmi_server.h"
#include "client/launcher/pmix_server.h"

namespace muster::launcher {

std::unique_ptr<MpiServer> MakeMpiServer(const JobPlan* plan, JobStoreClient* store,
                                         EventLoop* loop, MpiServer::Handlers handlers) {
  if (plan->pmi == Pmi::kPmix) {
    return std::make_unique<PmixServer>(plan, store, loop, std::move(handlers));
  }
  return std::make_unique<PmiServer>(plan, store, loop, std::move(handlers));
}

void CarryOut(const MpiServer::Handlers& handlers, const MpiEffect& effect) {
  if (const auto* expel = std::get_if<Expel>(&effect)) {
    handlers.on_expelled(expel->local_rank);
  } else if (const auto* blame = std::get_if<Blame>(&effect)) {
    handlers.on_fault(blame->local_rank, blame->fault);
  } else {
    handlers.say(std::get<Announce>(effect).text);
  }
}

}  // namespace muster::launcher
