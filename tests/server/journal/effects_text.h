#ifndef MUSTER_TESTS_SERVER_JOURNAL_EFFECTS_TEXT_H_
#define MUSTER_TESTS_SERVER_JOURNAL_EFFECTS_TEXT_H_

#include <string>

#include "server/core/effects.h"
#include "server/core/options.h"

namespace muster::journal {

// All that the effects of a step say, byte for byte: two that differ in anything have two texts. Of
// payloads only their sizes, since a replay has none.
std::string EffectsText(const core::Effects& effects, core::Time now, const core::Options& options);

}  // namespace muster::journal

#endif  // MUSTER_TESTS_SERVER_JOURNAL_EFFECTS_TEXT_H_
