#include "codec/jpeg_memory.h"

#include <jerror.h>

#include <cstring>

/// All coefficients of a component, for files of several scans; libjpeg leaves the type to the
/// manager.
struct jvirt_barray_control {
  JBLOCKARRAY blocks;
  JDIMENSION lines;
};

namespace headrace {
namespace {

void leave_with(j_common_ptr codec, int message) {
  codec->err->msg_code = message;
  codec->err->error_exit(codec);
}

size_t rounded(size_t size) {
  return (size + Arena::kAlignment - 1) / Arena::kAlignment * Arena::kAlignment;
}

}  // namespace

JpegMemory::JpegMemory() : jpeg_memory_mgr{} {
  alloc_small = take;
  alloc_large = take;
  alloc_sarray = take_samples;
  alloc_barray = take_blocks;
  request_virt_sarray = refuse_whole_samples;
  request_virt_barray = take_whole;
  realize_virt_arrays = [](j_common_ptr) {};
  access_virt_barray = part_of;
  free_pool = [](j_common_ptr, int) {};
  self_destruct = [](j_common_ptr) {};
  max_alloc_chunk = 1'000'000'000;  // as libjpeg's own manager has it
}

void* JpegMemory::take(j_common_ptr codec, int, size_t size) {
  void* piece = static_cast<JpegMemory*>(codec->mem)->arena_.take(size);
  if (piece == nullptr) leave_with(codec, JERR_OUT_OF_MEMORY);
  return piece;
}

JSAMPARRAY JpegMemory::take_samples(j_common_ptr codec, int pool, JDIMENSION width,
                                    JDIMENSION lines) {
  // The codec's vectors write over a line's end, up to a multiple of their size.
  const size_t stride = rounded(width * sizeof(JSAMPLE));
  auto* samples = static_cast<JSAMPARRAY>(take(codec, pool, lines * sizeof(JSAMPROW)));
  auto* first = static_cast<JSAMPROW>(take(codec, pool, lines * stride));
  for (JDIMENSION i = 0; i < lines; ++i) samples[i] = first + i * stride;
  return samples;
}

JBLOCKARRAY JpegMemory::take_blocks(j_common_ptr codec, int pool, JDIMENSION width,
                                    JDIMENSION lines) {
  const size_t stride = width;
  auto* blocks = static_cast<JBLOCKARRAY>(take(codec, pool, lines * sizeof(JBLOCKROW)));
  auto* first = static_cast<JBLOCKROW>(take(codec, pool, lines * stride * sizeof(JBLOCK)));
  for (JDIMENSION i = 0; i < lines; ++i) blocks[i] = first + i * stride;
  return blocks;
}

/// They are for palettes of two passes, which nobody asks for.
jvirt_sarray_ptr JpegMemory::refuse_whole_samples(j_common_ptr codec, int, boolean, JDIMENSION,
                                                  JDIMENSION, JDIMENSION) {
  leave_with(codec, JERR_NOT_COMPILED);
  return nullptr;
}

jvirt_barray_ptr JpegMemory::take_whole(j_common_ptr codec, int pool, boolean zero,
                                        JDIMENSION width, JDIMENSION lines, JDIMENSION) {
  auto* whole = static_cast<jvirt_barray_ptr>(take(codec, pool, sizeof(jvirt_barray_control)));
  *whole = {take_blocks(codec, pool, width, lines), lines};
  if (zero != FALSE && lines > 0)
    std::memset(whole->blocks[0], 0, size_t{lines} * width * sizeof(JBLOCK));
  return whole;
}

JBLOCKARRAY JpegMemory::part_of(j_common_ptr codec, jvirt_barray_ptr whole, JDIMENSION first,
                                JDIMENSION lines, boolean) {
  if (lines > whole->lines || first > whole->lines - lines)
    leave_with(codec, JERR_BAD_VIRTUAL_ACCESS);
  return whole->blocks + first;
}

}  // namespace headrace
