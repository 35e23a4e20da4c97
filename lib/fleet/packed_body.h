/* SPDX-License-Identifier: MIT */
/* Bodies of requests, packed by gzip. */
#ifndef PROF_LIB_FLEET_PACKED_BODY_H
#define PROF_LIB_FLEET_PACKED_BODY_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* Leaves `packed` empty where it is not worth it. */
int packed_body(const void *body, size_t size, struct strbuf *packed, struct error *err);

#endif
