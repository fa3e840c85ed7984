// The example at the head of muster/portable.h. See header_examples.cc.

#include <iostream>
#include <vector>

#include "muster/portable.h"

int main() {
  muster::portable::Result<muster::portable::Job> job =
      muster::portable::Job::Join(muster::portable::JobOptions::FromEnvironment());
  if (!job.ok()) return job.status().exit_code();
  std::vector<float> losses = {0.5f, 2.0f};
  muster::portable::Status done = job->AllReduce(muster::portable::Span(losses));
  if (done.ok()) done = job->Leave();
  if (!done.ok()) std::cerr << done.message() << std::endl;  // names the rank, its node and why
  return done.exit_code();
}
