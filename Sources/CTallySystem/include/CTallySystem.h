// What Swift cannot reach of the processor and of the system.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Whether this processor has instructions for SHA-256 that are known here: those of x86 (SHA-NI) and of 64-bit ARM.
int tally_sha256_is_available(void);

/// Takes whole blocks of 64 bytes into a state of eight words. Only where `tally_sha256_is_available` says so.
void tally_sha256_compress(uint32_t *state, const uint8_t *blocks, size_t count);

/// Asks the system to begin to write so many bytes of a file to the disk, so that a later fsync finds less to do. It is a
/// wish: where the system knows no such call, nothing happens.
void tally_begin_writing(int descriptor, int64_t offset, int64_t count);

/// When a file was made and when its content was last written, in microseconds since 1970. Where the system or the file
/// system does not know the former, it is when anything of the file last changed, its owner and names included: no
/// program can set that either. Returns 0, or -1 if the file cannot be asked.
int tally_file_times(int descriptor, int64_t *made, int64_t *written);
