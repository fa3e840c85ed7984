// Functions of glibc 2.35 and 2.36 that the archives of GCC's libraries call. Programs and
// libraries that are linked with these archives (--config=static, tools/wheel, tools/dist) contain
// these functions, and so run with glibc 2.34. tools/binaries.py names a function that is
// missing here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

// Returns a random number, for std::random_device. Ends the process if the kernel has none, as
// glibc does.
HIDDEN uint32_t arc4random(void) {
  uint32_t number;
  ssize_t got;
  do {
    got = getrandom(&number, sizeof(number), 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(number)) abort();
  return number;
}

// A search for the object that contains an address, and the place for its table.
struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static bool contains(const ElfW(Phdr) * segment, uintptr_t base, uintptr_t address) {
  return address >= base + segment->p_vaddr && address - base - segment->p_vaddr < segment->p_memsz;
}

// Fills in the result and returns 1, which ends the iteration, if the object has the address.
static int visit(struct dl_phdr_info* object, size_t size, void* data) {
  (void)size;
  const struct search* const search = data;
  const uintptr_t base = object->dlpi_addr;
  const ElfW(Phdr)* code = NULL;
  const ElfW(Phdr)* frames = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const segment = &object->dlpi_phdr[i];
    if (segment->p_type == PT_GNU_EH_FRAME) frames = segment;
    if (segment->p_type == PT_LOAD && contains(segment, base, search->address)) code = segment;
  }
  if (code == NULL) return 0;
  if (frames != NULL) search->result->dlfo_eh_frame = (void*)(base + frames->p_vaddr);
  return 1;
}

// Finds the unwinder's table for the code at an address, as GCC did before glibc had this function:
// searches all loaded objects. Returns -1 if there is no table. Sets only dlfo_eh_frame, which is
// all that the unwinder reads.
HIDDEN int _dl_find_object(void* address, struct dl_find_object* result) {
  memset(result, 0, sizeof(*result));
  struct search search = {(uintptr_t)address, result};
  dl_iterate_phdr(visit, &search);
  return result->dlfo_eh_frame != NULL ? 0 : -1;
}
