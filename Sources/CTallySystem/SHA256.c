#include "CTallySystem.h"

// FIPS 180-4, section 4.2.2.
#define TALLY_SHA256_CONSTANTS \
  { \
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, \
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, \
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, \
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, \
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, \
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, \
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, \
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2, \
  }

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <immintrin.h>

static const uint32_t constants[64] = TALLY_SHA256_CONSTANTS;

int tally_sha256_is_available(void) {
  unsigned a, b, c, d;
  // Intel's manual, volume 2A, CPUID: SSSE3 and SSE4.1 in leaf 1, SHA in leaf 7.
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 9) || !(c & 1u << 19)) return 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & 1u << 29);
}

// Intel, "SHA Extensions" (2013): the state is kept as the words a, b, e, f and c, d, g, h; an instruction makes two rounds.
__attribute__((target("sha,ssse3,sse4.1"))) void tally_sha256_compress(
    uint32_t *state, const uint8_t *blocks, size_t count) {
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
  __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xB1);
  __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1B);
  __m128i abef = _mm_alignr_epi8(low, high, 8);
  __m128i cdgh = _mm_blend_epi16(high, low, 0xF0);
  for (; count > 0; count--, blocks += 64) {
    const __m128i abefBefore = abef, cdghBefore = cdgh;
    __m128i words[4];
#pragma clang loop unroll(full)
    for (int four = 0; four < 16; four++) {
      __m128i *const now = &words[four & 3];
      if (four < 4) {
        *now = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(blocks + 16 * four)), order);
      } else {
        const __m128i last = words[(four + 3) & 3];
        const __m128i sum = _mm_add_epi32(
            _mm_sha256msg1_epu32(*now, words[(four + 1) & 3]), _mm_alignr_epi8(last, words[(four + 2) & 3], 4));
        *now = _mm_sha256msg2_epu32(sum, last);
      }
      __m128i input = _mm_add_epi32(*now, _mm_loadu_si128((const __m128i *)(constants + 4 * four)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, input);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(input, 0x0E));
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  low = _mm_shuffle_epi32(abef, 0x1B);
  high = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xF0));
  _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

#elif defined(__aarch64__) && !defined(__AARCH64EB__) && (defined(__linux__) || defined(__APPLE__))

#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

static const uint32_t constants[64] = TALLY_SHA256_CONSTANTS;

int tally_sha256_is_available(void) {
#if defined(__linux__)
  // HWCAP_SHA2 of asm/hwcap.h.
  return (getauxval(AT_HWCAP) & 1 << 6) != 0;
#else
  // Every 64-bit processor of Apple's has them.
  return 1;
#endif
}

// Arm Architecture Reference Manual, SHA256H, SHA256H2, SHA256SU0, SHA256SU1: each makes four rounds, or four words.
#if defined(__APPLE__)
void
#else
__attribute__((target("sha2"))) void
#endif
tally_sha256_compress(uint32_t *state, const uint8_t *blocks, size_t count) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; count > 0; count--, blocks += 64) {
    const uint32x4_t abcdBefore = abcd, efghBefore = efgh;
    uint32x4_t words[4];
#pragma clang loop unroll(full)
    for (int four = 0; four < 16; four++) {
      uint32x4_t *const now = &words[four & 3];
      if (four < 4) {
        *now = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * four)));
      } else {
        *now = vsha256su1q_u32(
            vsha256su0q_u32(*now, words[(four + 1) & 3]), words[(four + 2) & 3], words[(four + 3) & 3]);
      }
      const uint32x4_t input = vaddq_u32(*now, vld1q_u32(constants + 4 * four)), before = abcd;
      abcd = vsha256hq_u32(abcd, efgh, input);
      efgh = vsha256h2q_u32(efgh, before, input);
    }
    abcd = vaddq_u32(abcd, abcdBefore);
    efgh = vaddq_u32(efgh, efghBefore);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

#else

int tally_sha256_is_available(void) { return 0; }

void tally_sha256_compress(uint32_t *state, const uint8_t *blocks, size_t count) {
  (void)state, (void)blocks, (void)count;
}

#endif
