// The register instructions of dav-3510 on the host, under the names of the vendor's C API and, for
// those that it renames between releases, of the compiler's intrinsics. Written from their
// published description; tests/cpp/twin_intrinsics_test.cpp compares each with a plain loop.
#pragma once

#include "ascend/twin/asc_compute.h"
#include "ascend/twin/asc_memory.h"
