/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/symbol_reason.h"

static const char *const texts[SYMBOL_REASON_COUNT] = {
	[SYMBOLS_UNASKED] = "symbols were not searched",
	[SYMBOLS_FOUND] = "debug information found",
	[SYMBOLS_STRIPPED] = "stripped, without a build id or link to find a debug file by",
	[SYMBOLS_NO_LINES] = "functions only: built without debug information",
	[SYMBOLS_NO_DEBUG_FILE] = "no debug file for build id",
	[SYMBOLS_BUILD_ID_MISMATCH] = "the debug file is of another build",
	[SYMBOLS_CRC_MISMATCH] = "the debug file that the link names has another checksum",
	[SYMBOLS_NO_SHARED_PART] = "the file that its debug information is shared with is missing",
	[SYMBOLS_NO_SPLIT_UNITS] = "the .dwo or .dwp files of its debug information are missing",
	[SYMBOLS_UNREADABLE] = "the file could not be read",
	[SYMBOLS_NOT_THEIRS] = "the users who ran it may not read its debug file",
	[SYMBOLS_DELETED] = "the file was deleted before it could be opened",
	[SYMBOLS_NOT_HERE] = "the file is not on this machine",
	[SYMBOLS_OTHER_BUILD] = "the file that is here is of another build",
	[SYMBOLS_NO_BUILD_ID] = "no build id to recognize the right file by",
	[SYMBOLS_TOO_LARGE] = "the debug information is too large",
	[SYMBOLS_DAMAGED] = "the debug information is damaged",
	[SYMBOLS_DOWNLOAD_FAILED] = "the debug file could not be downloaded",
	[SYMBOLS_DOWNLOAD_TIMEOUT] = "downloading the debug file took too long",
	[SYMBOLS_NO_CODE_MAP] = "code made at run time, without a map",
	[SYMBOLS_KERNEL_HIDDEN] = "the kernel hides its symbols' addresses",
	[SYMBOLS_KERNEL_NO_DEBUG_FILE] = "functions only: no debug file for build id",
	[SYMBOLS_SILENT] = "its file system did not answer",
};

const char *symbol_reason_text(enum symbol_reason reason)
{
	return texts[reason];
}

bool symbol_reason_is_of_search(enum symbol_reason reason)
{
	return reason == SYMBOLS_NOT_HERE || reason == SYMBOLS_OTHER_BUILD ||
	       reason == SYMBOLS_NO_BUILD_ID;
}

static void add_build_id(const struct module *m, struct strbuf *text)
{
	char id[MODULE_BUILD_ID_TEXT];

	module_build_id_text(m, id);
	strbuf_addf(text, " %s", id);
}

void module_describe_reason(const struct module *m, struct strbuf *text)
{
	if (m->reason == SYMBOLS_FOUND)
		return;
	strbuf_adds(text, symbol_reason_text(m->reason));
	if (m->reason == SYMBOLS_NO_DEBUG_FILE || m->reason == SYMBOLS_KERNEL_NO_DEBUG_FILE)
		add_build_id(m, text);
}
