/* SPDX-License-Identifier: MIT */
#include "lib/format/page/parts.h"

#include <page_parts.h>

const struct page_part page_style = {style_bytes, sizeof(style_bytes) - 1};
const struct page_part page_boot = {boot_bytes, sizeof(boot_bytes) - 1};
const struct page_part page_script = {packed_bytes, sizeof(packed_bytes) - 1};
const struct page_part page_engine = {engine_bytes, sizeof(engine_bytes) - 1};
const char page_policy[] = "default-src 'none'; script-src 'sha256-" BOOT_HASH
			   "' 'sha256-" SCRIPT_HASH
			   "' 'wasm-unsafe-eval'; style-src 'sha256-" STYLE_HASH
			   "'; base-uri 'none'; form-action 'none'";
