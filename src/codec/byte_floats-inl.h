// Lines of bytes as vectors of floats, and back. For each target.
#if defined(HEADRACE_BYTE_FLOATS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_BYTE_FLOATS_INL_H
#undef HEADRACE_BYTE_FLOATS_INL_H
#else
#define HEADRACE_BYTE_FLOATS_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;

template <class D>
HWY_INLINE hn::Vec<D> load_bytes(D d, const uint8_t* in) {
  const hn::Rebind<uint8_t, D> bytes;
  const hn::Rebind<int32_t, D> integers;
  return hn::ConvertTo(d, hn::PromoteTo(integers, hn::LoadU(bytes, in)));
}

/// Truncated.
template <class D>
HWY_INLINE void store_bytes(D d, hn::Vec<D> v, uint8_t* out) {
  const hn::Rebind<uint8_t, D> bytes;
  const hn::Rebind<int32_t, D> integers;
  const auto bounded = hn::Min(hn::Max(v, hn::Zero(d)), hn::Set(d, 255.0F));
  hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(integers, bounded)), bytes, out);
}

/// Calls `at(x)` for vectors that together make up a line of `count`; the last one may be made in
/// part a second time. False: the line is shorter than a vector.
template <typename D, typename At>
HWY_INLINE bool by_vectors(D d, size_t count, const At& at) {
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) return false;
  for (size_t x = 0; x + lanes <= count; x += lanes) at(x);
  if (count % lanes != 0) at(count - lanes);
  return true;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#endif
