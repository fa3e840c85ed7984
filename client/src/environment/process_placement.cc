#include "client/src/environment/process_placement.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/src/environment/launchers.h"
#include "common/process/cluster_variables.h"

namespace muster::internal {
namespace {

std::atomic<int> local_rank_hint{-1};

// The placement by one launcher.
struct Statement {
  const Launcher* launcher;
  Placement placement;
};

std::optional<VariableNumber>& At(Placement& placement, Field field) {
  switch (field) {
    case Field::kRank:
      return placement.rank;
    case Field::kWorldSize:
      return placement.world_size;
    case Field::kLocalRank:
      return placement.local_rank;
    case Field::kNodeRank:
      return placement.node_rank;
  }
  return placement.rank;
}

std::optional<VariableNumber> ReadFirst(const std::vector<const char*>& names, Field field,
                                        VariableReader* reader) {
  const bool is_size = field == Field::kWorldSize;
  for (const char* name : names) {
    if (!reader->IsSet(name)) continue;
    std::optional<int> value;
    reader->Read(name, is_size ? 1 : 0,
                 is_size ? "a number of processes, at least 1" : "a rank of at least 0", &value);
    if (!value) return std::nullopt;
    return VariableNumber{*value, name};
  }
  return std::nullopt;
}

Statement ReadStatement(const Launcher& launcher, VariableReader* reader) {
  Statement statement = {&launcher, {}};
  for (const Field field : kFields) {
    At(statement.placement, field) = ReadFirst(launcher.names(field), field, reader);
  }
  if (launcher.node_id != nullptr) {
    reader->Read(launcher.node_id, "the node's id", &statement.placement.node_id);
  }
  return statement;
}

std::vector<Statement> ReadStatements(const Variables& variables, VariableReader* reader) {
  std::vector<Statement> statements;
  for (const Launcher& launcher : Launchers()) {
    if (launcher.applies != nullptr && !launcher.applies(variables)) continue;
    statements.push_back(ReadStatement(launcher, reader));
    if (StartedByMuster(variables)) break;  // Muster's own variables come first, and are complete
  }
  return statements;
}

// Drops launchers that started fewer processes than the job has: they started this process's
// launcher.
void DropOuterLaunchers(std::vector<Statement>* statements) {
  int job_size = 0;
  for (const Statement& statement : *statements) {
    const std::optional<VariableNumber>& size = statement.placement.world_size;
    if (size) job_size = std::max(job_size, size->value);
  }
  const auto is_outer = [job_size](const Statement& statement) {
    const std::optional<VariableNumber>& size = statement.placement.world_size;
    return !statement.launcher->always_innermost && size && size->value < job_size;
  };
  statements->erase(std::remove_if(statements->begin(), statements->end(), is_outer),
                    statements->end());
}

absl::Status Contradiction(const VariableNumber& first, const VariableNumber& second) {
  return absl::InvalidArgumentError(absl::StrCat(
      first.variable, " is ", first.value, " but ", second.variable, " is ", second.value,
      "; both say where this process stands in its job: unset the one that is wrong"));
}

// Returns whether a launcher's numbers may contradict others. Without a world size, it may have
// started this process's launcher. Then it only fills gaps.
bool IsComparable(const Statement& statement) {
  return statement.launcher->always_innermost || statement.placement.world_size.has_value();
}

absl::Status Add(Statement statement, Placement* result) {
  for (const Field field : kFields) {
    const std::optional<VariableNumber>& number = At(statement.placement, field);
    std::optional<VariableNumber>& known = At(*result, field);
    if (!number) continue;
    if (!known) {
      known = number;
    } else if (known->value != number->value && IsComparable(statement)) {
      return Contradiction(*known, *number);
    }
  }
  if (result->node_id.empty()) result->node_id = std::move(statement.placement.node_id);
  return absl::OkStatus();
}

// Adds the cluster's index of this process's pod. If the pod runs several processes of the job, as
// local ranks show, it is a node. Otherwise it is a rank. Better sources are never contradicted.
void AddPod(const char* index_variable, const char* count_variable, bool counts_ranks,
            VariableReader* reader, Placement* result) {
  std::optional<int> index;
  reader->Read(index_variable, 0, "the index of a pod, at least 0", &index);
  if (!index || result->rank) return;
  const bool is_node = result->local_rank.has_value() || !counts_ranks;
  std::optional<VariableNumber>& field = is_node ? result->node_rank : result->rank;
  if (!field) field = VariableNumber{*index, index_variable};
  if (count_variable == nullptr || is_node || result->world_size) return;
  std::optional<int> count;
  reader->Read(count_variable, 1, "a number of pods, at least 1", &count);
  if (count) result->world_size = VariableNumber{*count, count_variable};
}

void AddPods(const Variables& variables, VariableReader* reader, Placement* result) {
  const auto get = Getter(variables);
  const std::optional<ClusterPlacement> place = FindClusterPlacement(get);
  if (place) {
    const std::string& each = place->processes_per_node;
    AddPod(place->node_rank_variable, place->nodes.empty() ? nullptr : place->nodes_variable,
           each.empty() || each == "1", reader, result);
  }
  AddPod(kCompletionIndex, nullptr, /*counts_ranks=*/true, reader, result);
}

absl::Status CheckRankInWorld(const Placement& placement) {
  if (!placement.rank || !placement.world_size) return absl::OkStatus();
  if (placement.rank->value < placement.world_size->value) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(placement.rank->variable, " is ", placement.rank->value, " but ",
                   placement.world_size->variable, " is ", placement.world_size->value,
                   "; expected a rank below the world size"));
}

}  // namespace

absl::StatusOr<Placement> ReadPlacement(const Variables& variables) {
  VariableReader reader(variables);
  std::vector<Statement> statements = ReadStatements(variables, &reader);
  if (!reader.status().ok()) return reader.status();
  DropOuterLaunchers(&statements);
  Placement placement;
  for (Statement& statement : statements) {
    absl::Status status = Add(std::move(statement), &placement);
    if (!status.ok()) return status;
  }
  if (!StartedByMuster(variables)) AddPods(variables, &reader, &placement);
  absl::Status status = reader.status();
  status.Update(CheckRankInWorld(placement));
  if (!status.ok()) return status;
  return placement;
}

void HintLocalRank(int local_rank) { local_rank_hint = local_rank; }

std::optional<int> HintedLocalRank() {
  const int hint = local_rank_hint;
  return hint < 0 ? std::nullopt : std::optional<int>(hint);
}

std::optional<int> RankFromEnvironment() {
  const absl::StatusOr<Placement> placement = ReadPlacement(ProcessVariables());
  if (!placement.ok() || !placement->rank) return std::nullopt;
  return placement->rank->value;
}

std::optional<int> LocalRankFromEnvironment() {
  const absl::StatusOr<Placement> placement = ReadPlacement(ProcessVariables());
  if (!placement.ok() || !placement->local_rank) return std::nullopt;
  return placement->local_rank->value;
}

}  // namespace muster::internal
