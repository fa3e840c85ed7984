#ifndef MUSTER_TESTS_UTIL_PROCESS_TEST_PIPE_H_
#define MUSTER_TESTS_UTIL_PROCESS_TEST_PIPE_H_

#include <string>

namespace muster::testing {

// A named pipe that only this object reads.
class TestPipe {
 public:
  TestPipe();
  ~TestPipe();

  // Returns the path, for writers.
  const std::string& path() const { return path_; }
  // Returns a descriptor for writers in this process. A write to it blocks while the pipe is full.
  // The caller closes it.
  int OpenToWrite() const;

  // Fills the pipe, so that the next write blocks.
  void Fill() const;
  // Reads until `text` has come. If it never comes, fails the test and returns false.
  bool ReadUntil(const std::string& text);
  // Returns all that has been read.
  const std::string& read() const { return read_; }
  // Closes the reading end, so that writers get EPIPE.
  void Close();

 private:
  void ReadSome();

  const std::string path_;
  int fd_ = -1;
  std::string read_;
};

}  // namespace muster::testing

#endif  // MUSTER_TESTS_UTIL_PROCESS_TEST_PIPE_H_
