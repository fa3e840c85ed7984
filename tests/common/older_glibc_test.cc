// Tests bazel/older_glibc.c in a program that links the C++ library and the unwinder as archives,
// as with --config=static.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

extern "C" {
std::uint32_t arc4random();
int _dl_find_object(void* address, dl_find_object* result);
}

namespace {

using FindObject = int (*)(void*, dl_find_object*);

void* AddressOf(void (*function)()) { return reinterpret_cast<void*>(function); }

void Throw() { throw std::runtime_error("thrown"); }

TEST(OlderGlibcTest, ExceptionsAreCaught) {
  std::string text;
  try {
    Throw();
  } catch (const std::exception& error) {
    text = error.what();
  }
  EXPECT_EQ(text, "thrown");
}

TEST(OlderGlibcTest, FindsTheSameFramesAsTheCLibrary) {
  const auto libcs =
      reinterpret_cast<FindObject>(dlvsym(RTLD_DEFAULT, "_dl_find_object", "GLIBC_2.35"));
  ASSERT_NE(libcs, nullptr);
  ASSERT_NE(libcs, &_dl_find_object) << "the program exports its own";
  int on_stack = 0;
  void* const addresses[] = {AddressOf(&Throw), AddressOf(reinterpret_cast<void (*)()>(&puts)),
                             &on_stack, nullptr};
  for (void* address : addresses) {
    dl_find_object ours{};
    dl_find_object theirs{};
    const int found = _dl_find_object(address, &ours);
    EXPECT_EQ(found, libcs(address, &theirs)) << address;
    EXPECT_EQ(ours.dlfo_eh_frame, found == 0 ? theirs.dlfo_eh_frame : nullptr) << address;
  }
}

TEST(OlderGlibcTest, RandomNumbersDiffer) {
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 20; ++i) numbers.insert({arc4random(), std::random_device{}()});
  EXPECT_GT(numbers.size(), 35u);
}

}  // namespace
