#ifndef MUSTER_TESTS_UTIL_TEST_PIPE_H_
#define MUSTER_TESTS_UTIL_TEST_PIPE_H_

#include <string>

namespace muster::testing {

// A named pipe that nobody reads but by this object.
class TestPipe {
 public:
  TestPipe();
  ~TestPipe();

  // For those who write to it.
  const std::string& path() const { return path_; }
  // For threads of this process that do; a write to it blocks. The caller closes it.
  int OpenToWrite() const;

  // Takes all room, so that the next to write to it must wait.
  void Fill() const;
  // Reads until `text` has come; false, and a test failure, if it never does.
  bool ReadUntil(const std::string& text);
  // All that has been read.
  const std::string& read() const { return read_; }
  // From now on nobody can read it.
  void Close();

 private:
  void ReadSome();

  const std::string path_;
  int fd_ = -1;
  std::string read_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_TEST_PIPE_H_
