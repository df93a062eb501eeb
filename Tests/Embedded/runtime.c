// The few C functions that Embedded Swift expects of its surroundings, for a WebAssembly module that stands alone.
// Memory is never given back: the module runs once.
#include <stddef.h>

extern unsigned char __heap_base;
static size_t next_free;

void *malloc(size_t size) {
  if (next_free == 0) next_free = (size_t)&__heap_base;
  size_t start = (next_free + 15) & ~(size_t)15;
  next_free = start + size;
  size_t pages = (next_free + 65535) / 65536, have = __builtin_wasm_memory_size(0);
  if (pages > have && __builtin_wasm_memory_grow(0, pages - have) == (size_t)-1) __builtin_trap();
  return (void *)start;
}

int posix_memalign(void **place, size_t alignment, size_t size) {
  char *memory = malloc(size + alignment);
  *place = (void *)(((size_t)memory + alignment - 1) & ~(alignment - 1));
  return 0;
}

void free(void *memory) {}

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  for (size_t i = 0; i < count; i++) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memmove(void *to, const void *from, size_t count) {
  if (to < from) return memcpy(to, from, count);
  while (count--) ((char *)to)[count] = ((const char *)from)[count];
  return to;
}

void *memset(void *to, int byte, size_t count) {
  for (size_t i = 0; i < count; i++) ((char *)to)[i] = (char)byte;
  return to;
}

int memcmp(const void *a, const void *b, size_t count) {
  const unsigned char *x = a, *y = b;
  for (; count--; x++, y++) if (*x != *y) return *x < *y ? -1 : 1;
  return 0;
}

size_t strlen(const char *text) {
  size_t count = 0;
  while (text[count]) count++;
  return count;
}

int putchar(int byte) { return byte; }

// Hashing is seeded with it; the exercise must not depend on the seed, so it is always the same here and not elsewhere.
void arc4random_buf(void *to, size_t count) { memset(to, 42, count); }

double round(double x) { return x < 0 ? -__builtin_floor(0.5 - x) : __builtin_floor(x + 0.5); }

unsigned long __stack_chk_guard = 0x5ca1ab1e;
void __stack_chk_fail(void) { __builtin_trap(); }

// The product of two numbers of 128 bits, in halves of 32, for a machine that multiplies 64.
__int128 __multi3(__int128 a, __int128 b) {
  unsigned long long al = (unsigned long long)a, bl = (unsigned long long)b;
  unsigned long long ah = (unsigned long long)(a >> 64), bh = (unsigned long long)(b >> 64);
  unsigned long long x0 = al & 0xffffffff, x1 = al >> 32, y0 = bl & 0xffffffff, y1 = bl >> 32;
  unsigned long long low = x0 * y0, mid = x1 * y0 + (low >> 32), mid2 = x0 * y1 + (mid & 0xffffffff);
  unsigned long long high = x1 * y1 + (mid >> 32) + (mid2 >> 32) + ah * bl + al * bh;
  return ((__int128)high << 64) | (mid2 << 32 | (low & 0xffffffff));
}
