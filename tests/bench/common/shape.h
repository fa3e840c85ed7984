#ifndef MUSTER_TESTS_BENCH_COMMON_SHAPE_H_
#define MUSTER_TESTS_BENCH_COMMON_SHAPE_H_

#include <istream>
#include <ostream>
#include <sstream>
#include <string>

namespace muster::testing {

// The size of a job, which is written "8" or, of two nodes with four ranks each, "2x4".
struct Shape {
  int nodes = 1;
  int ranks = 2;  // in total

  // Returns the node of a rank. Nodes have their ranks in a row.
  int NodeOf(int rank) const { return rank * nodes / ranks; }
  int FirstRankOf(int node) const { return (node * ranks + nodes - 1) / nodes; }
  int RanksOf(int node) const { return FirstRankOf(node + 1) - FirstRankOf(node); }
};

inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  if (shape.nodes == 1) return out << shape.ranks;
  return out << shape.nodes << "x" << shape.ranks / shape.nodes;
}

inline std::string TextOf(const Shape& shape) {
  std::ostringstream text;
  text << shape;
  return text.str();
}

// Reads what the operator above writes, and fails for anything else.
inline std::istream& operator>>(std::istream& in, Shape& shape) {
  constexpr int kMost = 1024;
  int ranks = 0;
  if (!(in >> ranks)) return in;
  int nodes = 1;
  if (!in.eof() && in.peek() == 'x') {
    nodes = ranks;
    if (!(in.ignore() >> ranks)) return in;
  }
  if (nodes < 1 || ranks < 1 || nodes > kMost || ranks > kMost / nodes || nodes * ranks < 2) {
    in.setstate(std::ios::failbit);
    return in;
  }
  shape = {nodes, nodes * ranks};
  return in;
}

}  // namespace muster::testing

#endif  // MUSTER_TESTS_BENCH_COMMON_SHAPE_H_
