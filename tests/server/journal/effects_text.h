#ifndef MUSTER_TESTS_SERVER_JOURNAL_EFFECTS_TEXT_H_
#define MUSTER_TESTS_SERVER_JOURNAL_EFFECTS_TEXT_H_

#include <string>

#include "server/core/api/effects.h"
#include "server/core/api/options.h"

namespace muster::journal {

// Returns the full content of a step's effects as text: effects that differ have different texts.
// Only the sizes of payloads are included, since a replay has no payloads.
std::string EffectsText(const core::Effects& effects, core::Time now, const core::Options& options);

}  // namespace muster::journal

#endif  // MUSTER_TESTS_SERVER_JOURNAL_EFFECTS_TEXT_H_
