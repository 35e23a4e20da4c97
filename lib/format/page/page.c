/* SPDX-License-Identifier: MIT */
#include <page_parts.h>
#include <sys/mman.h>

#include "lib/base/base.h"
#include "lib/base/infile.h"
#include "lib/base/open_file.h"
#include "lib/base/outfile.h"
#include "lib/base/quote.h"
#include "lib/format/format.h"
#include "lib/format/page/slab/slab.h"
#include "lib/query/summary.h"
#include "lib/query/table.h"

/* Parts shared by all pages: built from ui/ and engine/ together with prof. */

struct page_part {
	const unsigned char *bytes;
	size_t size; /* 0: prof was built without pages */
};

static const struct page_part page_style = {style_bytes, sizeof(style_bytes) - 1};
static const struct page_part page_boot = {boot_bytes, sizeof(boot_bytes) - 1};
/* Runs after page_boot has unpacked it; gzip. */
static const struct page_part page_script = {packed_bytes, sizeof(packed_bytes) - 1};
/* lib/query compiled to WebAssembly, gzip-compressed. */
static const struct page_part page_engine = {engine_bytes, sizeof(engine_bytes) - 1};
/* Content security policy: allows only these scripts, and no loads. */
static const char page_policy[] = "default-src 'none'; script-src 'sha256-" BOOT_HASH
				  "' 'sha256-" SCRIPT_HASH
				  "' 'wasm-unsafe-eval'; style-src 'sha256-" STYLE_HASH
				  "'; base-uri 'none'; form-action 'none'";

/*
 * Data in a page: elements with an id that contain gzip as base64 and that no browser executes.
 * They survive when a browser saves the page.
 */

#define TYPE "application/octet-stream"
/* Bytes encoded at a time: a multiple of 3. */
#define STEP ((size_t)48 << 10)
/* More than a browser's memory. */
#define UNPACKED_MAX ((size_t)1 << 30)

static void write_encoded(struct outfile *out, const unsigned char *data, size_t size)
{
	char text[BASE64_SIZE(STEP)];

	while (size) {
		size_t part = size < STEP ? size : STEP;

		base64_encode(data, part, text);
		outfile_write(out, text, BASE64_SIZE(part));
		data += part;
		size -= part;
	}
}

/* Writes bytes already compressed with gzip. */
static void block_write_packed(struct outfile *out, const char *id, const void *data, size_t size)
{
	_cleanup_free_ char *begin = xasprintf("<script type=\"" TYPE "\" id=\"%s\">", id);

	outfile_write(out, begin, strlen(begin));
	write_encoded(out, data, size);
	outfile_write(out, "</script>\n", strlen("</script>\n"));
}

/* Maps the packed data in memory file `fd`, and writes them as a block. */
static int write_mapped(struct outfile *out, const char *id, int fd, size_t size, struct error *err)
{
	void *packed = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (packed == MAP_FAILED)
		return error_set(err, -errno, "cannot compress the profile in memory");
	block_write_packed(out, id, packed, size);
	munmap(packed, size);
	return 0;
}

/* Compresses the bytes and writes them. */
static int block_write(struct outfile *out, const char *id, const void *data, size_t size,
		       struct error *err)
{
	uint64_t packed_size;
	_cleanup_close_ int fd = memory_file_pack("the profile", data, size, &packed_size, err);

	return fd < 0 ? fd : write_mapped(out, id, fd, packed_size, err);
}

/* Finds the text between the tags; NULL if there is none. */
static const char *find_block(const char *text, size_t text_size, const char *id, size_t *size)
{
	_cleanup_free_ char *begin = xasprintf("<script type=\"" TYPE "\" id=\"%s\">", id);
	const char *at = memmem(text, text_size, begin, strlen(begin)), *end;

	if (!at)
		return NULL;
	at += strlen(begin);
	end = memchr(at, '<', text_size - (size_t)(at - text));
	*size = end ? (size_t)(end - at) : text_size - (size_t)(at - text);
	return at;
}

static int unpack(const unsigned char *packed, size_t packed_size, char **data, size_t *size,
		  struct error *err)
{
	_cleanup_close_ int fd = memfd_create("block", MFD_CLOEXEC);

	for (size_t done = 0; done < packed_size;) {
		ssize_t part = fd < 0 ? -1 : write(fd, packed + done, packed_size - done);

		if (part < 0)
			return error_set(err, -errno, "cannot decompress the page in memory");
		done += (size_t)part;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, -errno, "cannot decompress the page in memory");
	return infile_read(fd, "a block of the page", UNPACKED_MAX, data, size, err);
}

/* Unpacks a block; *data is the caller's. Returns -EBADMSG if it is damaged. */
static int block_read(const char *encoded, size_t encoded_size, const char *id, char **data,
		      size_t *size, struct error *err)
{
	size_t packed_size;
	_cleanup_free_ unsigned char *packed = xmalloc(encoded_size + 4);

	*data = NULL;
	if (!base64_decode(encoded, encoded_size, packed, &packed_size))
		return error_text(err, -EBADMSG, "the data is damaged: block %s", id);
	return unpack(packed, packed_size, data, size, err);
}

/*
 * An HTML file that shows a whole profile offline. It contains the profile as blocks of
 * lib/format/page/slab, lib/query as WebAssembly, and a script that draws. Without scripts, it
 * shows a summary and the heaviest functions.
 */

#define GENERATOR "<meta name=\"generator\" content=\"prof profile page\">"
#define SERVED "<meta name=\"prof-server\" content=\".\">\n"
/* Bytes searched from the beginning: browsers add comments. */
#define GENERATOR_WITHIN 8192
#define HEAVIEST 10
#define NAME_SIZE 300

static const char *const block_ids[SLAB_BLOCK_COUNT] = {
	[BLOCK_META] = "prof-meta",	  [BLOCK_TABLES] = "prof-tables",
	[BLOCK_SAMPLES] = "prof-samples", [BLOCK_MARKERS] = "prof-markers",
	[BLOCK_TEXTS] = "prof-texts",
};

/* Returns the id of a part of a block: "prof-samples", then "prof-samples-2". The caller frees it.
 */
static char *part_id(enum slab_block block, unsigned int part)
{
	return part ? xasprintf("%s-%u", block_ids[block], part + 1) : xstrdup(block_ids[block]);
}

static void add(struct outfile *out, const char *text)
{
	outfile_write(out, text, strlen(text));
}

/* Adds an untrusted string of bounded length. */
static void add_escaped(const char *text, struct strbuf *html)
{
	_cleanup_free_ char *line = xstrndup(text, NAME_SIZE);

	text_to_line(line);
	for (const char *c = line; *c; c++) {
		if (*c == '&')
			strbuf_adds(html, "&amp;");
		else if (*c == '<')
			strbuf_adds(html, "&lt;");
		else if (*c == '>')
			strbuf_adds(html, "&gt;");
		else if (*c == '"')
			strbuf_adds(html, "&quot;");
		else
			strbuf_addch(html, *c);
	}
	if (strlen(text) > NAME_SIZE)
		strbuf_adds(html, "…");
}

static void add_lines(const char *text, struct strbuf *html)
{
	while (*text) {
		_cleanup_free_ char *line = xstrndup(text, strcspn(text, "\n"));

		add_escaped(line, html);
		strbuf_addch(html, '\n');
		text += strlen(line);
		text += *text == '\n';
	}
}

static void add_share(const struct query *q, uint64_t weight, struct strbuf *html)
{
	double all = (double)q->weight;

	strbuf_addf(html, "<td>%.1f %%", 100 * (double)weight / all);
	if (q->squares > 0)
		strbuf_addf(html, " <small>±%.1f</small>", 100 * query_error(q, weight) / all);
	strbuf_adds(html, "</td>");
}

static void add_heaviest(const struct query *q, struct strbuf *html)
{
	struct query_table table;

	query_table_make(&table, q, QUERY_BY_FUNCTION, NULL);
	strbuf_adds(html, "<table><thead><tr><th>Self</th><th>Total</th><th>Function</th>"
			  "<th>Module</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < table.rows.count && i < HEAVIEST; i++) {
		const struct query_row *row = &table.rows.items[i];
		const struct query_key *key = &table.keys->rows.items[row->key];

		strbuf_adds(html, "<tr>");
		add_share(q, row->self, html);
		add_share(q, row->total, html);
		strbuf_adds(html, "<td>");
		add_escaped(key->function == NO_STRING ? "(no frame)"
						       : query_keys_text(table.keys, key->function),
			    html);
		strbuf_adds(html, "</td><td>");
		add_escaped(query_keys_text(table.keys, key->module), html);
		strbuf_adds(html, "</td></tr>\n");
	}
	strbuf_adds(html, "</tbody></table>\n");
	query_table_release(&table);
}

/* Adds the content shown if scripts are disabled. */
static int add_first(const struct profile *p, const struct export_difference *difference,
		     struct strbuf *html, struct error *err)
{
	const struct query_filter filter = QUERY_FILTER_ALL;
	_cleanup_(strbuf_release) struct strbuf line = {0};
	struct query q;
	int ret;

	if (difference) {
		strbuf_adds(html, "<pre>");
		add_lines(difference->text, html);
		strbuf_adds(html, "</pre>\n");
		return 0;
	}
	ret = query_select(&q, p, &filter, err);
	if (ret)
		return ret;
	query_summary_text(&q, &line);
	strbuf_adds(html, "<p>");
	add_escaped(strbuf_text(&line), html);
	strbuf_adds(html, "</p>\n");
	if (q.weight)
		add_heaviest(&q, html);
	query_release(&q);
	return 0;
}

static int add_head(const struct profile *p, const struct export_difference *difference,
		    bool is_served, struct outfile *out, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf html = {0}, title = {0};
	int ret;

	add_escaped(p->meta.product ? p->meta.product : "profile", &title);
	strbuf_addf(
		&html,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n%s\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%s%s\">\n%s"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s</title>\n<style>",
		GENERATOR, page_policy, is_served ? "; connect-src 'self'" : "",
		is_served ? SERVED : "", strbuf_text(&title));
	add(out, strbuf_text(&html));
	outfile_write(out, page_style.bytes, page_style.size);
	strbuf_reset(&html);
	strbuf_addf(&html, "</style>\n</head>\n<body>\n<main id=\"first\">\n<h1>%s</h1>\n",
		    strbuf_text(&title));
	ret = add_first(p, difference, &html, err);
	strbuf_adds(&html, "<p id=\"why\">Enable scripts to see more.</p>\n</main>\n");
	add(out, strbuf_text(&html));
	return ret;
}

static void collect(void *ctx, const void *data, size_t size)
{
	strbuf_add(ctx, data, size);
}

static int write_block(struct slab_writer *w, enum slab_block block, struct outfile *out,
		       struct error *err)
{
	bool has_more = true;
	int ret = 0;

	for (unsigned int part = 0; !ret && has_more; part++) {
		_cleanup_(strbuf_release) struct strbuf bytes = {0};
		_cleanup_free_ char *id = part_id(block, part);

		has_more = slab_write(w, block, collect, &bytes);
		ret = block_write(out, id, strbuf_text(&bytes), bytes.size, err);
	}
	return ret;
}

static int write_blocks(const struct profile *p, struct outfile *out, struct error *err)
{
	struct slab_writer *w = slab_writer_new(p);
	int ret = 0;

	for (int i = 0; !ret && i < SLAB_BLOCK_COUNT; i++)
		ret = write_block(w, i, out, err);
	slab_writer_free(w);
	return ret;
}

static int page_write(const struct profile *p, const struct export_options *options,
		      struct outfile *out, struct export_counts *counts, struct error *err)
{
	const struct export_difference *difference = options ? options->difference : NULL;
	int ret;

	if (difference && !difference->json)
		difference = NULL;
	if (options && options->base)
		return flamegraph_write_html(p, options, out, err);
	if (!page_engine.size)
		return error_text(err, -ENOTSUP, "this prof was built without pages (PAGE=0)");
	ret = add_head(p, difference, options && options->is_served, out, err);
	if (ret)
		return ret;
	block_write_packed(out, "prof-engine", page_engine.bytes, page_engine.size);
	block_write_packed(out, "prof-script", page_script.bytes, page_script.size);
	if (difference)
		ret = block_write(out, "prof-comparison", difference->json,
				  strlen(difference->json), err);
	if (!ret && options && options->assembly)
		ret = block_write(out, "prof-assembly", options->assembly,
				  strlen(options->assembly), err);
	if (!ret)
		ret = write_blocks(p, out, err);
	add(out, "<script type=\"module\">");
	outfile_write(out, page_boot.bytes, page_boot.size);
	add(out, "</script>\n</body>\n</html>\n");
	return ret;
}

static bool page_matches(const char *text, size_t size)
{
	size_t within = size < GENERATOR_WITHIN ? size : GENERATOR_WITHIN;

	return memmem(text, within, GENERATOR, strlen(GENERATOR)) != NULL;
}

/* Reads a block with all of its parts, of which it has at least one. */
static int read_block(struct slab_reader *r, enum slab_block block, const char *text, size_t size,
		      struct error *err)
{
	const char *end = text + size;
	int ret = 0;

	for (unsigned int part = 0; !ret; part++) {
		_cleanup_free_ char *data = NULL, *id = part_id(block, part);
		size_t encoded_size, data_size;
		const char *encoded = find_block(text, (size_t)(end - text), id, &encoded_size);

		if (!encoded)
			return part ? 0 : error_text(err, -ENOENT, "the page has no block %s", id);
		ret = block_read(encoded, encoded_size, id, &data, &data_size, err);
		if (!ret)
			ret = slab_read(r, data, data_size, err);
		text = encoded + encoded_size; /* parts follow each other */
	}
	return ret;
}

static int page_read(struct profile **p, const char *text, size_t size,
		     struct import_counts *counts, struct error *err)
{
	struct slab_reader *r = slab_reader_new();
	int ret = 0;

	*p = NULL;
	if (counts)
		*counts = (struct import_counts){0};
	for (int i = 0; !ret && i < SLAB_BLOCK_COUNT; i++)
		ret = read_block(r, i, text, size, err);
	if (!ret)
		ret = slab_reader_take(r, p, err);
	slab_reader_free(r);
	return ret;
}

const struct format format_html = {
	.name = "html",
	.is_timeline = true,
	.suffixes = (const char *const[]){".html", ".htm", NULL},
	.is_flame_graph = true,
	.has_comparison = true,
	.is_plain = true,
	.matches = page_matches,
	.read = page_read,
	.write = page_write,
};
