// Join: places, and contention for them.

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/coordinator_impl.h"
#include "server/core/describe.h"

namespace muster::core {
namespace {

// Names of members in a message: the first few stand for all.
constexpr size_t kMaxNamed = 4;

PlaceWish WishOf(const JoinRequest& request) {
  return {request.world_size, request.rank, request.local_rank, request.node_rank,
          request.topology};
}

absl::Status BelowWorldSize(absl::string_view what, std::optional<uint32_t> value, uint32_t size) {
  if (!value || size == 0 || *value < size) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " ", *value,
                                                 " is out of range: the job has ", size,
                                                 " members, so it must be below that"));
}

}  // namespace

uint32_t Coordinator::Impl::WorldSize() const {
  return epoch_ ? static_cast<uint32_t>(epoch_->members.size()) : Places();
}

absl::Status Coordinator::Impl::CheckWorldSize(const Member& member, const PlaceWish& wish) const {
  if (wish.world_size > options_.limits.max_members) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "world size ", wish.world_size, " is over the limit of ", options_.limits.max_members,
        " (musterd --max-members raises it, as far as its ulimit -Hn goes)"));
  }
  // In an elastic job without a flag the largest number counts.
  const bool by_flag = options_.world_size != 0 || options_.max_world_size != 0;
  const uint32_t known = elastic() ? (by_flag ? Places() : 0) : WorldSize();
  if (known == 0 || wish.world_size == 0 || wish.world_size == known) return absl::OkStatus();
  const std::string source = options_.max_world_size != 0 ? "musterd --max-world-size"
                             : options_.world_size != 0   ? "musterd --world-size"
                                                          : agreed_by_;
  return absl::FailedPreconditionError(absl::StrCat("world sizes disagree: ", member.who(),
                                                    " expects ", wish.world_size, " members, ",
                                                    source, " says ", known));
}

absl::Status Coordinator::Impl::CheckRankWishes(const Member& member, const PlaceWish& wish) const {
  const uint32_t size = wish.world_size != 0 ? wish.world_size : Places();
  if (absl::Status s = BelowWorldSize("rank", wish.rank, size); !s.ok()) return s;
  if (absl::Status s = BelowWorldSize("local rank", wish.local_rank, size); !s.ok()) return s;
  if (absl::Status s = BelowWorldSize("node rank", wish.node_rank, size); !s.ok()) return s;
  for (const auto& [arrival, other] : candidates_) {
    if (other == &member) continue;
    if (other->wish->rank.has_value() == wish.rank.has_value()) return absl::OkStatus();
    const auto asks = [](const PlaceWish& w) {
      return w.rank ? absl::StrCat("asks for rank ", *w.rank) : std::string("asks for none");
    };
    return absl::FailedPreconditionError(
        absl::StrCat("either every member asks for a rank or none does: ", member.who(), " ",
                     asks(wish), ", ", other->who(), " ", asks(*other->wish)));
  }
  return absl::OkStatus();
}

absl::Status Coordinator::Impl::CheckJoin(const Member& member, const JoinRequest& request) const {
  if (state_ == JobState::kFailed) {
    return absl::FailedPreconditionError(absl::StrCat("the job has failed: ", reason_));
  }
  if (state_ == JobState::kFinished || member.left) {
    return absl::FailedPreconditionError("the job is finished: its members have left");
  }
  const PlaceWish wish = WishOf(request);
  if (!wish.topology.empty()) {
    const uint32_t max = options_.limits.max_name_bytes;
    if (absl::Status s = ValidateName("topology", wish.topology, max); !s.ok()) return s;
  }
  if (absl::Status s = CheckWorldSize(member, wish); !s.ok()) return s;
  if (epoch_ && elastic()) return CanPark();  // for a place that is or becomes free
  if (epoch_) {
    if (wish.rank && *wish.rank < WorldSize()) {
      return PlaceTaken(member, {epoch_->members[*wish.rank], absl::StrCat("rank ", *wish.rank)});
    }
    return absl::FailedPreconditionError(
        absl::StrCat("the job is full: all of its ", WorldSize(), " members have joined"));
  }
  if (absl::Status s = CheckRankWishes(member, wish); !s.ok()) return s;
  return CanPark();
}

absl::Status Coordinator::Impl::Serve(WaiterId id, Member* member, const JoinRequest& request) {
  if (epoch_ && member->rank && !member->left) {
    // Of a broken epoch of an elastic job too: its answer was lost, and now Rejoin can name it.
    if (!epoch_->broken.ok() && state_ != JobState::kReforming) return epoch_->broken;
    Respond(id, JoinAnswer{epoch_->id, *member->rank, epoch_->roster});
    return absl::OkStatus();
  }
  if (absl::Status s = CheckJoin(*member, request); !s.ok()) return s;
  if (request.call.attempt < member->join_attempt) {
    return absl::CancelledError("a later send of the same call has arrived");
  }
  if (member->join_waiter != 0) {
    const WaiterId older = member->join_waiter;
    StopJoining(member);
    Finish(older, absl::CancelledError("replaced by a later send of the same call"));
  }
  const PlaceWish wish = WishOf(request);
  const std::optional<Conflict> conflict = FindConflict(*member, wish);
  if (conflict &&
      member->identity.start_time_micros < conflict->holder->identity.start_time_micros) {
    return PlaceTaken(*member, *conflict);
  }
  Park(id, Waiter(member, Waiter::Call::kJoin), request.call, "Join");
  member->join_waiter = id;
  member->join_attempt = request.call.attempt;
  member->wish = wish;
  candidates_[member->arrival] = member;
  if (wish.world_size > Places()) {
    agreed_size_ = wish.world_size;
    agreed_by_ = member->who();
  }
  Log(Severity::kInfo,
      absl::StrCat(
          member->who(), " has come: ", candidates_.size(),
          epoch_ ? " waiting for a place"
                 : absl::StrCat(" of ", Places() == 0 ? "?" : absl::StrCat(Places()), " members")));
  forming_stall_.Restart(now_);
  conflict ? Contend(member, *conflict) : TakePlace(member);
  FormationChanged();
  TryForm();
  return absl::OkStatus();
}

// Who has a place that `wish` names, other than the member itself.
std::optional<Coordinator::Impl::Conflict> Coordinator::Impl::FindConflict(
    const Member& member, const PlaceWish& wish) const {
  if (wish.rank) {
    const auto it = rank_places_.find(*wish.rank);
    if (it != rank_places_.end() && it->second != &member) {
      return Conflict{it->second, absl::StrCat("rank ", *wish.rank)};
    }
  }
  if (wish.local_rank) {
    const std::string& node = member.identity.node_id;
    const auto it = local_places_.find({node, *wish.local_rank});
    if (it != local_places_.end() && it->second != &member) {
      return Conflict{it->second,
                      absl::StrCat("local rank ", *wish.local_rank, " of node '", node, "'")};
    }
  }
  return std::nullopt;
}

absl::Status Coordinator::Impl::PlaceTaken(const Member& newcomer, const Conflict& conflict) const {
  return absl::AlreadyExistsError(absl::StrCat(
      conflict.place, " is asked for twice: ", conflict.holder->who(), " holds it, and ",
      newcomer.who(),
      " asks for it; give each process a rank of its own, or stop the other one first"));
}

void Coordinator::Impl::TakePlace(Member* member) {
  if (member->wish->rank) rank_places_[*member->wish->rank] = member;
  if (member->wish->local_rank) {
    local_places_[{member->identity.node_id, *member->wish->local_rank}] = member;
  }
}

// The process that started later wins a place; but a holder that is alive gets a grace to show that
// it is (a dead one's connection will have ended by then), and after it the newcomer is refused.
void Coordinator::Impl::Contend(Member* newcomer, const Conflict& conflict) {
  if (!conflict.holder->attached()) {
    Lose({{conflict.holder, absl::StrCat("replaced by a newer process, ", newcomer->who())}});
    TakePlace(newcomer);
    return;
  }
  Log(Severity::kWarning, std::string(PlaceTaken(*newcomer, conflict).message()));
  contenders_.Set(newcomer->identity.incarnation, now_ + options_.member_grace);
  ExpireContenders();
}

void Coordinator::Impl::StopJoining(Member* member) {
  if (!member->wish) return;
  const PlaceWish wish = *std::exchange(member->wish, std::nullopt);
  const auto free = [member](auto& places, const auto& place) {
    const auto it = places.find(place);
    if (it != places.end() && it->second == member) places.erase(it);
  };
  if (wish.rank) free(rank_places_, *wish.rank);
  if (wish.local_rank) {
    free(local_places_, std::pair(member->identity.node_id, *wish.local_rank));
  }
  contenders_.Clear(member->identity.incarnation);
  candidates_.erase(member->arrival);
  if (candidates_.empty() && !elastic()) agreed_size_ = 0;
}

// Gives places that have become free to those who wait for them, and forms the epoch if that was
// all.
void Coordinator::Impl::ResolveContenders() {
  for (const auto& [arrival, member] : candidates_) {
    if (contenders_.empty()) break;  // as always in a large job that starts well
    if (!contenders_.Has(member->identity.incarnation)) continue;
    if (FindConflict(*member, *member->wish)) continue;
    contenders_.Clear(member->identity.incarnation);
    TakePlace(member);
  }
  TryForm();
}

void Coordinator::Impl::ExpireContenders() {
  while (std::optional<Incarnation> incarnation = contenders_.Pop(now_)) {
    Member* member = members_.at(*incarnation).get();
    const std::optional<Conflict> conflict = FindConflict(*member, *member->wish);
    if (!conflict) {
      TakePlace(member);
      continue;
    }
    const absl::Status taken = PlaceTaken(*member, *conflict);
    const WaiterId waiter = member->join_waiter;
    StopJoining(member);
    Finish(waiter, taken);
  }
}

// Ranks that no candidate asks for, if some ask for ranks.
std::vector<uint32_t> Coordinator::Impl::UnaskedRanks() const {
  std::vector<uint32_t> ranks;
  for (uint32_t rank = 0; !rank_places_.empty() && rank < WorldSize(); ++rank) {
    if (rank_places_.count(rank) == 0) ranks.push_back(rank);
  }
  return ranks;
}

// "; missing: rank 3; present: process (node 'n0', ...), ...".
std::string Coordinator::Impl::CandidateWords() const {
  std::vector<std::string> present;
  for (const auto& [arrival, member] : candidates_) {
    if (present.size() < kMaxNamed) present.push_back(member->who());
  }
  const std::vector<uint32_t> missing = UnaskedRanks();
  return absl::StrCat(missing.empty() ? "" : absl::StrCat("; missing: ", Ranks(missing)),
                      "; present: ", absl::StrJoin(present, ", "),
                      candidates_.size() > present.size() ? ", ..." : "");
}

absl::Status Coordinator::Impl::JoinTimeout(const Waiter& waiter) const {
  if (epoch_) return RejoinTimeout(waiter);
  const uint32_t size = WorldSize();
  return absl::DeadlineExceededError(absl::StrCat(
      "waited ", HowLong(waiter.timeout), " for members: ", candidates_.size(), " of ",
      size == 0 ? "an unknown number" : absl::StrCat(size), " have joined", CandidateWords(),
      size == 0 ? "; no member has said how many there are, nor has musterd --world-size"
                : "; check that every process was started and reaches this coordinator"));
}

}  // namespace muster::core
