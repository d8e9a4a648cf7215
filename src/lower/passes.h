#pragma once
// The passes, one file each. See the table in lower.cpp for what they do and in which order.

#include "lower/lower.h"

namespace lathe::lower {

Program form_fma(const Program&, const Target&, const Options&);
Program lower_init(const Program&, const Target&, const Options&);
Program allocate(const Program&, const Target&, const Options&);
Program shrink(const Program&, const Target&, const Options&);
Program call_intrinsics(const Program&, const Target&, const Options&);
Program lower_blocks(const Program&, const Target&, const Options&);
Program insert_prefetches(const Program&, const Target&, const Options&);
Program flatten(const Program&, const Target&, const Options&);
Program simplify(const Program&, const Target&, const Options&);
Program partition(const Program&, const Target&, const Options&);
Program vectorize(const Program&, const Target&, const Options&);
Program unroll(const Program&, const Target&, const Options&);
Program unmask(const Program&, const Target&, const Options&);
Program legalize(const Program&, const Target&, const Options&);
Program narrow(const Program&, const Target&, const Options&);

}  // namespace lathe::lower
