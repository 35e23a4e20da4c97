/* SPDX-License-Identifier: MIT */
/* Row ids of the profile's tables. Ids, not pointers, cross rooms. Rows never change their ids. */
#pragma once

#include "lib/base/base.h"

typedef uint32_t string_id;
typedef uint32_t module_id;
typedef uint32_t frame_id;
typedef uint32_t stack_id;
typedef uint32_t func_id;
typedef uint32_t symbol_id;
typedef uint32_t source_file_id;
typedef uint32_t thread_id;
typedef uint32_t schema_id;
typedef uint32_t counter_id;

#define NO_STRING UINT32_MAX
#define NO_MODULE UINT32_MAX
#define NO_FRAME UINT32_MAX
#define NO_STACK UINT32_MAX
#define NO_FUNC UINT32_MAX
#define NO_SYMBOL UINT32_MAX
#define NO_SOURCE_FILE UINT32_MAX
#define NO_THREAD UINT32_MAX
#define NO_SCHEMA UINT32_MAX
#define NO_COUNTER UINT32_MAX
