/* SPDX-License-Identifier: MIT */
/* Origins of code, and short answers made of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/meaning/origin.h"
#include "lib/query/digest.h"
#include "tests/unit/stack_texts.h"
#include "tests/unit/test.h"

struct origin_case {
	const char *func;
	enum origin origin;
};

static void check_origins(const struct origin_case *rows, size_t count)
{
	struct profile *p = profile_new();
	uint8_t *origins;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(stack_texts_add_frame(p, rows[i].func), i);
	origins = origins_of_frames(p);
	for (size_t i = 0; i < count; i++)
		if (origins[i] != rows[i].origin)
			fail_msg("%s: %d, not %d", rows[i].func, origins[i], rows[i].origin);
	free(origins);
	profile_free(p);
}

/* Scripts that only start a program that is installed. */
TEST(test_origins_of_launchers)
{
	static const struct origin_case rows[] = {
		{"<module> - /venv/bin/black", ORIGIN_PACKAGE},
		{"<main> - bin/puma", ORIGIN_PACKAGE},
		{"<module> - /srv/tool.pyz/__main__.py", ORIGIN_PACKAGE},
		{"run - /srv/tool.shiv/_bootstrap/__init__.py", ORIGIN_PACKAGE},
		{"boot - /root/.pex/x/.bootstrap/pex/pex.py", ORIGIN_PACKAGE},
		{"handle - /srv/web/vendor/symfony/http-kernel/HttpKernel.php", ORIGIN_PACKAGE},
		{"<module> - /home/u/bin/work.py", ORIGIN_OWN},
		{"<module> - /home/u/sbin/work", ORIGIN_OWN},
		{"work - /home/u/bin/work", ORIGIN_OWN},
		{"<module> - work", ORIGIN_OWN},
	};

	check_origins(rows, sizeof(rows) / sizeof(*rows));
}

TEST(test_origins)
{
	static const struct origin_case rows[] = {
		{"work /home/u/app main.c", ORIGIN_OWN},
		{"work /home/u/libapp.so.1 -", ORIGIN_OWN},
		{"xz_main /usr/bin/xz -", ORIGIN_OWN},
		{"exec /usr/lib/postgresql/15/bin/postgres -", ORIGIN_OWN},
		{"lzma_code /usr/lib/x86_64-linux-gnu/liblzma.so.5 -", ORIGIN_SYSTEM},
		{"memcpy libc.so.6 -", ORIGIN_SYSTEM},
		{"read [kernel.kallsyms] -", ORIGIN_SYSTEM},
		{"std::sort<int> /home/u/app -", ORIGIN_SYSTEM},
		{"push /home/u/app /usr/include/c++/12/bits/vector.tcc", ORIGIN_SYSTEM},
		{"_start /home/u/app -", ORIGIN_SYSTEM},
		{"puts@plt /home/u/app -", ORIGIN_SYSTEM},
		{"handle - /srv/web/app.py", ORIGIN_OWN},
		{"get - /usr/lib/python3/dist-packages/requests/api.py", ORIGIN_PACKAGE},
		{"get - /venv/lib/python3.11/site-packages/requests/api.py", ORIGIN_PACKAGE},
		{"dumps - /usr/lib/python3.11/json/__init__.py", ORIGIN_RUNTIME},
		{"Carp::croak - /usr/share/perl/5.36.0/Carp.pm", ORIGIN_RUNTIME},
		{"POSIX::import - /usr/lib/x86_64-linux-gnu/perl/5.36/POSIX.pm", ORIGIN_RUNTIME},
		{"LWP::get - /usr/share/perl5/LWP.pm", ORIGIN_PACKAGE},
		{"DBI::connect - /usr/lib/x86_64-linux-gnu/perl5/5.36/DBI.pm", ORIGIN_PACKAGE},
		{"Moo::has - /usr/local/lib/perl5/site_perl/5.40.0/Moo.pm", ORIGIN_PACKAGE},
		{"_find - <frozen importlib._bootstrap>", ORIGIN_RUNTIME},
		{"_PyEval_Vector /usr/bin/python3.11 -", ORIGIN_RUNTIME},
		{"dot /venv/site-packages/numpy/core/_multiarray.so -", ORIGIN_PACKAGE},
		{"<polars::Frame>::sort /venv/site-packages/polars/_polars.so -", ORIGIN_PACKAGE},
		{"<rayon_core::Worker>::wait /venv/site-packages/polars/_polars.so -",
		 ORIGIN_SYSTEM},
		{"<tokio::runtime::Context>::park /home/u/app -", ORIGIN_SYSTEM},
		{"rayon_core::join /srv/rusty /home/u/.cargo/registry/src/x/join.rs",
		 ORIGIN_SYSTEM},
		{"rayon::iter /srv/rusty /home/u/.cargo/registry/src/x/iter.rs", ORIGIN_PACKAGE},
		{"std::sys::backtrace::__rust_begin_short_backtrace /home/u/app -", ORIGIN_OWN},
		{"render - /srv/web/server.js", ORIGIN_OWN},
		{"use - /srv/web/node_modules/express/index.js", ORIGIN_PACKAGE},
		{"Module._load - node:internal/modules/cjs/loader", ORIGIN_RUNTIME},
		{"node::Start /usr/bin/node -", ORIGIN_RUNTIME},
		{"nodemon_main /usr/bin/nodemon -", ORIGIN_OWN},
		{"org.example.Shop.sell - Shop.java", ORIGIN_OWN},
		{"java.util.HashMap.get - HashMap.java", ORIGIN_RUNTIME},
		{"io.netty.util.Recycler.get - Recycler.java", ORIGIN_PACKAGE},
		{"org.gradle.launcher.GradleMain.main - GradleMain.java", ORIGIN_PACKAGE},
		{"com.oracle.truffle.js.nodes.JavaScriptNode.executeInt - JavaScriptNode.java",
		 ORIGIN_RUNTIME},
		{"JavaMain /usr/lib/jvm/java-17/lib/server/libjvm.so -", ORIGIN_RUNTIME},
		{"main.serve /srv/shop /home/u/shop/main.go", ORIGIN_OWN},
		{"main.serve /srv/shop shop/main.go", ORIGIN_OWN},
		{"sort.Ints /srv/shop /usr/local/go/src/sort/sort.go", ORIGIN_RUNTIME},
		{"sort.Ints /srv/shop sort/sort.go", ORIGIN_RUNTIME},
		{"sync/atomic.AddInt64 /srv/shop -", ORIGIN_SYSTEM},
		{"runtime.mallocgc /srv/shop -", ORIGIN_SYSTEM},
		{"sort.part.0 /home/u/app -", ORIGIN_OWN},
		{"node::Start /a/node_modules/node/bin/node -", ORIGIN_RUNTIME},
		{"Hash /a/node_modules/hash/node-hash.node -", ORIGIN_PACKAGE},
		{"gin.Next /srv/shop /home/u/go/pkg/mod/github.com/gin/gin.go", ORIGIN_PACKAGE},
		{"serde::de /srv/rusty /home/u/.cargo/registry/src/x/serde/de.rs", ORIGIN_PACKAGE},
		{"fold /srv/rusty /rustc/90c541/library/core/src/iter.rs", ORIGIN_RUNTIME},
		{"insert /srv/rusty /rust/deps/hashbrown-0.16.1/src/map.rs", ORIGIN_RUNTIME},
		{"malloc /opt/prof/prof-alloc.so prof_alloc.c", ORIGIN_SYSTEM},
	};
	check_origins(rows, sizeof(rows) / sizeof(*rows));
}

static void add_wait(struct profile *p, uint32_t weight, const char *text, uint8_t subcategory)
{
	stack_texts_add_call(p, weight, text, "[wait] - -", subcategory);
}

static const char *function_name(const struct digest *d, uint32_t key)
{
	return query_keys_text(&d->keys, d->keys.rows.items[key].function);
}

static void add_steps(const struct digest *d, struct strbuf *text)
{
	vec_for_each(&d->steps, const struct hot_step *, step)
		strbuf_addf(text, "%u %s %d\n", step->depth, function_name(d, step->key),
			    (int)step->total);
	vec_for_each(&d->beside, const struct hot_step *, step)
		strbuf_addf(text, "beside %s %d\n", function_name(d, step->key), (int)step->total);
	vec_for_each(&d->modules, const struct hot_module *, row)
		strbuf_addf(text, "in %s %d\n", query_keys_text(&d->keys, row->module),
			    (int)row->weight);
}

static void add_functions(const struct digest *d, struct strbuf *text)
{
	vec_for_each(&d->functions, const struct heavy_function *, f)
		strbuf_addf(text, "%s %d by %s\n", function_name(d, f->row->key), (int)f->row->self,
			    f->caller == DIGEST_NO_KEY ? "-" : function_name(d, f->caller));
}

static void add_waits(const struct digest *d, struct strbuf *text)
{
	vec_for_each(&d->waits, const struct wait_place *, place)
		strbuf_addf(text, "%s %d in %s by %s, kind %d\n", d->idle ? "idle" : "blocked",
			    (int)place->weight, function_name(d, place->key),
			    place->caller == DIGEST_NO_KEY ? "-" : function_name(d, place->caller),
			    place->subcategory);
	if (d->blocked)
		strbuf_addf(text, "blocked %d\n", (int)d->blocked);
}

static void check(struct profile *p, enum query_order order, const char *expected)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct strbuf text = {0};
	struct error err = {0};
	struct query q;
	struct digest d;

	assert_int_equal(query_select(&q, p, &filter, &err), 0);
	digest_make(&d, &q, &filter, order, 3);
	add_steps(&d, &text);
	add_functions(&d, &text);
	add_waits(&d, &text);
	assert_string_equal(strbuf_text(&text), expected);
	digest_release(&d);
	query_release(&q);
	strbuf_release(&text);
	profile_free(p);
}

#define MAIN "_start /app -\nmain /app main.c\n"
#define SERVE MAIN "serve /app serve.c\n"
#define SQL "step /lib/libsql.so.0 -\n"

TEST(test_path_ends_in_the_users_code)
{
	struct profile *p = profile_new();

	/* More rows of the library than of the program, each heavier. */
	stack_texts_add_sample(p, 30, SERVE "lookup /app cache.c\n" SQL "btree /lib/libsql.so.0 -");
	stack_texts_add_sample(p, 40, SERVE "lookup /app cache.c\n" SQL "vdbe /lib/libsql.so.0 -");
	stack_texts_add_sample(p, 20, SERVE "lookup /app cache.c\n" SQL "read [kernel.kallsyms] -");
	stack_texts_add_sample(p, 6, SERVE "log /app log.c");
	stack_texts_add_sample(p, 4, MAIN "parse /app parse.c");
	check(p, QUERY_ORDER_SELF,
	      "0 main 100\n0 serve 96\n0 lookup 90\n1 step 90\n"
	      "in libsql.so.0 70\nin [kernel.kallsyms] 20\n"
	      "vdbe 40 by lookup\nbtree 30 by lookup\nread 20 by lookup\n");
}

TEST(test_path_ends_where_it_parts)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 45, SERVE "lookup /app cache.c");
	stack_texts_add_sample(p, 35, SERVE SQL "render /app render.c");
	stack_texts_add_sample(p, 15, SERVE "small /app small.c");
	stack_texts_add_sample(p, 5, SERVE);
	check(p, QUERY_ORDER_TOTAL,
	      "0 main 100\n0 serve 100\n1 lookup 45\n1 step 35\n2 render 35\n1 small 15\n"
	      "in app 5\n"
	      "serve 5 by -\n_start 0 by -\nmain 0 by -\n");
}

/* A path of calls that repeat shows each function once, with the weight of its outermost call. */
TEST(test_path_through_recursion)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 60,
			       MAIN "a /app a.c\nb /app b.c\na /app a.c\nb /app b.c\na /app a.c");
	stack_texts_add_sample(p, 40, MAIN "a /app a.c");
	check(p, QUERY_ORDER_SELF,
	      "0 main 100\n0 a 100\n0 b 60\nin app 60\na 100 by -\n_start 0 by -\nmain 0 by -\n");
}

TEST(test_functions_beside_the_path)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 60, SERVE "sixty /app a.c\nburn /app b.c");
	stack_texts_add_sample(p, 15, SERVE "thirty /app a.c\nburn /app b.c");
	stack_texts_add_sample(p, 13, MAIN SQL "thirty /app a.c\nburn /app b.c");
	stack_texts_add_sample(p, 12, "clone libc.so.6 -\nwork /app a.c\nburn /app b.c");
	check(p, QUERY_ORDER_SELF,
	      "0 main 88\n0 serve 75\n0 sixty 60\n0 burn 60\nbeside work 12\nbeside thirty 13\n"
	      "beside thirty 15\nin app 60\nburn 100 by -\n_start 0 by -\nmain 0 by -\n");
}

TEST(test_no_path)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 50, "one /one -");
	stack_texts_add_sample(p, 50, "two /two -");
	check(p, QUERY_ORDER_SELF, "one 50 by -\ntwo 50 by -\n");
}

TEST(test_stripped_program_that_calls_a_library)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 8,
			       "fun_10 /app -\nfun_20 /app -\nstep /lib/libsql.so.0 -\n"
			       "run /lib/libsql.so.0 -\nfun_30 /lib/libsql.so.0 -");
	stack_texts_add_sample(p, 2, "fun_10 /app -\nfun_50 /app -");
	check(p, QUERY_ORDER_SELF,
	      "0 fun_10 10\n0 fun_20 8\n0 step 8\n0 run 8\n1 fun_30 8\nbeside fun_50 2\n"
	      "fun_30 8 by fun_20\nfun_50 2 by -\nfun_10 0 by -\n");
	/* Without a name below it, its own functions are the path. */
	p = profile_new();
	stack_texts_add_sample(p, 8, "fun_10 /app -\nfun_20 /app -\nfun_30 /lib/libsql.so.0 -");
	check(p, QUERY_ORDER_SELF,
	      "0 fun_10 8\n0 fun_20 8\n1 fun_30 8\nin libsql.so.0 8\nfun_30 8 by fun_20\nfun_10 0 by -\n"
	      "fun_20 0 by -\n");
}

static void name(struct profile *p, const char *before, const char *after)
{
	vec_for_each(&p->funcs.rows, struct func *, func) {
		if (strcmp(strings_get(&p->strings, func->name), before) != 0)
			continue;
		func->name = strings_intern(&p->strings, after);
		func->is_named = false;
	}
}

/* `whole` may be NULL. */
static void check_hottest(struct profile *p, const char *expected, const char *whole)
{
	const struct hot_step *step;
	struct query_filter filter = QUERY_FILTER_ALL;
	struct query q;
	struct digest d;

	assert_int_equal(query_select(&q, p, &filter, NULL), 0);
	digest_make(&d, &q, &filter, QUERY_ORDER_SELF, 3);
	assert_string_equal(function_name(&d, digest_hottest(&d)->key), expected);
	step = digest_whole(&d);
	assert_int_equal(!step, !whole);
	if (whole)
		assert_string_equal(function_name(&d, step->key), whole);
	digest_release(&d);
	query_release(&q);
	profile_free(p);
}

/* A function without a name says less than its caller, but more than main(). */
TEST(test_hottest_function)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 8, SERVE "fun_30 /app -");
	name(p, "fun_30", "fun_30");
	check_hottest(p, "serve", NULL);
	p = profile_new();
	stack_texts_add_sample(p, 8, "main /app main.c\nfun_30 /app -");
	name(p, "fun_30", "fun_30");
	check_hottest(p, "fun_30", NULL);
	/* Code that a regular expression was compiled to is the library's. */
	p = profile_new();
	stack_texts_add_sample(p, 8, SERVE "made [anon] -");
	name(p, "made", "code made by libpcre2-8");
	check_hottest(p, "serve", NULL);
	/* Start of a program without names: not the hottest function. */
	p = profile_new();
	stack_texts_add_sample(p, 8,
			       "unnamed /app -\n__libc_start_call_main /lib/libc.so.6 -\n"
			       "unnamed /app -\nmade [anon] -");
	name(p, "unnamed", "unnamed code of app");
	name(p, "made", "code made by app");
	check_hottest(p, "unnamed code of app", NULL);
}

/* A server's slow command says more than the function in which it is most of the time. */
TEST(test_command_of_the_hottest_function)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 45, SERVE "union /app a.c\nnext /app b.c");
	stack_texts_add_sample(p, 40, SERVE "union /app a.c\nadd /app b.c");
	stack_texts_add_sample(p, 15, SERVE "ping /app a.c");
	check_hottest(p, "next", "union");
	/* Threads of a runtime. */
	p = profile_new();
#define GANG "start_thread libc.so.6 -\ncall_run /jdk/lib/libjvm.so -\nloop /jdk/lib/libjvm.so -\n"
	stack_texts_add_sample(p, 45, GANG "evacuate /jdk/lib/libjvm.so -");
	stack_texts_add_sample(p, 40, GANG "trim /jdk/lib/libjvm.so -");
	stack_texts_add_sample(p, 15, "start_thread libc.so.6 -\ncompile /jdk/lib/libjvm.so -");
	check_hottest(p, "evacuate", NULL);
	/* A server that is not busy with one command. */
	p = profile_new();
	stack_texts_add_sample(p, 50, SERVE "call /app a.c\nunion /app a.c");
	stack_texts_add_sample(p, 33, SERVE "call /app a.c");
	stack_texts_add_sample(p, 17, SERVE);
	check_hottest(p, "union", NULL);
	p = profile_new();
	stack_texts_add_sample(p, 70, SERVE "union /app a.c\nnext /app b.c");
	stack_texts_add_sample(p, 30, MAIN "parse /app a.c");
	check_hottest(p, "next", NULL);
}

#define POOL "clone libc.so.6 -\nJavaMain /jdk/lib/libjvm.so -\n"
#define CALL "call_stub /jdk/lib/libjvm.so -\n"
#define RUN "java.lang.Thread.run - Thread.java\n"

/* The path of a server goes on below a quarter of the time if it leads to the user's code. */
TEST(test_path_through_a_runtime)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 18, POOL RUN "org.example.Shop.sell - Shop.java");
	stack_texts_add_sample(p, 10, POOL RUN);
	stack_texts_add_sample(p, 72, "clone libc.so.6 -\nPyEval /usr/bin/python3.11 -");
	check(p, QUERY_ORDER_SELF,
	      "0 PyEval 72\nbeside org.example.Shop.sell 18\nin python3.11 72\n"
	      "PyEval 72 by -\norg.example.Shop.sell 18 by -\njava.lang.Thread.run 10 by -\n");
	p = profile_new();
	stack_texts_add_sample(p, 18, POOL CALL RUN "org.example.Shop.sell - Shop.java");
	stack_texts_add_sample(p, 10, POOL CALL RUN);
	stack_texts_add_sample(p, 24, POOL CALL);
	stack_texts_add_sample(p, 48, POOL "compile /jdk/lib/libjvm.so -");
	check(p, QUERY_ORDER_SELF,
	      "0 org.example.Shop.sell 18\nin Shop.java 18\n"
	      "compile 48 by -\ncall_stub 24 by -\norg.example.Shop.sell 18 by -\n");
}

#define WORKER "clone libc.so.6 -\nstart_thread libc.so.6 -\n"

/* Threads of a pool and the one that shares their work reach the same function on different paths.
 */
TEST(test_path_from_several_roots)
{
	struct profile *p = profile_new();

	/* OpenMP. */
	stack_texts_add_sample(
		p, 45, MAIN "GOMP_parallel /lib/libgomp.so.1 -\nbody /app a.c\nblur /app b.c");
	stack_texts_add_sample(
		p, 40, WORKER "gomp_start /lib/libgomp.so.1 -\nbody /app a.c\nblur /app b.c");
	stack_texts_add_sample(p, 15, MAIN "save /app a.c");
	check(p, QUERY_ORDER_SELF,
	      "0 body 85\n0 blur 85\nbeside main 15\nin app 85\n"
	      "blur 85 by -\nsave 15 by -\nbody 0 by -\n");
	p = profile_new();
	stack_texts_add_sample(p, 45, MAIN "body /app a.c\nblur /app b.c");
	stack_texts_add_sample(p, 40, WORKER "body /app a.c\nblur /app b.c");
	check_hottest(p, "blur", NULL);
	/* The path of the main thread holds nearly as much. */
	p = profile_new();
	stack_texts_add_sample(p, 82, SERVE "blur /app b.c");
	stack_texts_add_sample(p, 18, WORKER "blur /app b.c");
	check(p, QUERY_ORDER_SELF,
	      "0 main 82\n0 serve 82\n0 blur 82\nin app 82\n"
	      "blur 100 by -\n_start 0 by -\nmain 0 by -\n");
}

/* An executor splits work again and again, so that no branch of its functions has much. */
TEST(test_path_through_an_executor)
{
#define POOL_OF_RUST WORKER "<rayon_core::Thread>::run /app /root/.cargo/registry/a.rs\n"
#define PACKAGE_CALL(name) name " /app /root/.cargo/registry/src/rayon-1/b.rs\n"
	static const char *const calls[] = {
		PACKAGE_CALL("a") PACKAGE_CALL("c"), PACKAGE_CALL("a") PACKAGE_CALL("d"),
		PACKAGE_CALL("b") PACKAGE_CALL("c"), PACKAGE_CALL("b") PACKAGE_CALL("d")};
	struct profile *p = profile_new();

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		_cleanup_free_ char *text = xasprintf(
			POOL_OF_RUST PACKAGE_CALL("split") "%sshade /app s.rs\nround libm.so.6 -",
			calls[i]);

		stack_texts_add_sample(p, 9, text);
	}
	stack_texts_add_sample(p, 64, POOL_OF_RUST PACKAGE_CALL("split") PACKAGE_CALL("merge"));
	check_hottest(p, "merge", NULL);
	p = profile_new();
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		_cleanup_free_ char *text =
			xasprintf(POOL_OF_RUST PACKAGE_CALL("split") "%sshade /app s.rs", calls[i]);

		stack_texts_add_sample(p, 25, text);
	}
	check_hottest(p, "shade", NULL);
}

TEST(test_functions_of_the_user_beside_a_collector)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 70, "clone libc.so.6 -\nwork /jdk/lib/libjvm.so -");
	stack_texts_add_sample(p, 30,
			       "clone libc.so.6 -\nJavaMain /jdk/lib/libjvm.so -\n"
			       "org.example.Shop.sell - Shop.java");
	check(p, QUERY_ORDER_SELF,
	      "0 work 70\nbeside org.example.Shop.sell 30\nin libjvm.so 70\n"
	      "work 70 by -\norg.example.Shop.sell 30 by -\nclone 0 by -\n");
}

#define LOOP "_start /opt/node -\nuv_run /opt/node -\nRunMicrotasks /opt/node -\n"

TEST(test_path_through_an_event_loop)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 24,
			       LOOP "resume node:internal -\nrender - /a/app.mjs\nsin /opt/node -");
	stack_texts_add_sample(p, 18, LOOP "resume node:internal -\nquery - /a/app.mjs");
	stack_texts_add_sample(p, 30, LOOP "on - /a/node_modules/b/b.js\nlayout - /a/app.mjs");
	stack_texts_add_sample(p, 28, LOOP "Scavenge /opt/node -");
	check(p, QUERY_ORDER_SELF,
	      "0 layout 30\nbeside render 24\nbeside query 18\nin app.mjs 30\n"
	      "layout 30 by -\nScavenge 28 by -\nsin 24 by render\n");
	/* Packages are better than nothing; functions of less than a tenth are not. */
	p = profile_new();
	stack_texts_add_sample(p, 9, LOOP "query - /a/app.mjs");
	stack_texts_add_sample(p, 43, LOOP "on - /a/node_modules/b/b.js\nsin /opt/node -");
	stack_texts_add_sample(p, 48, LOOP "Scavenge /opt/node -");
	check_hottest(p, "on", NULL);
	/* A package's function is passed for one of the user's with half of the weight beside it.
	 */
	p = profile_new();
	stack_texts_add_sample(p, 30, LOOP "on - /a/node_modules/b/b.js\nlayout - /a/app.mjs");
	stack_texts_add_sample(p, 50, LOOP "on - /a/node_modules/b/b.js\nsin /opt/node -");
	stack_texts_add_sample(p, 20, LOOP "on - /a/node_modules/b/b.js");
	check_hottest(p, "layout", NULL);
	p = profile_new();
	stack_texts_add_sample(p, 20, LOOP "on - /a/node_modules/b/b.js\nlayout - /a/app.mjs");
	stack_texts_add_sample(p, 50, LOOP "on - /a/node_modules/b/b.js\nsin /opt/node -");
	stack_texts_add_sample(p, 30, LOOP "on - /a/node_modules/b/b.js");
	check_hottest(p, "on", NULL);
}

TEST(test_own_code_only)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = profile_new();
	struct strbuf text = {0};
	struct query_table t;
	struct error err = {0};
	struct query q;

	stack_texts_add_sample(p, 5, SERVE SQL "btree /lib/libsql.so.0 -");
	stack_texts_add_sample(p, 2, "clone libc.so.6 -");
	add_wait(p, 3, SERVE "read libc.so.6 -", IDLE_DISK);
	filter.own = filter.include_idle = true;
	assert_int_equal(query_select(&q, p, &filter, &err), 0);
	query_table_make(&t, &q, QUERY_BY_FUNCTION, NULL);
	vec_for_each(&t.rows, const struct query_row *, row)
		strbuf_addf(&text, "%s %d %d, ",
			    query_keys_text(t.keys, t.keys->rows.items[row->key].function),
			    (int)row->self, (int)row->total);
	assert_string_equal(strbuf_text(&text), "serve 5 8, [wait] 3 3,  2 2, main 0 8, ");
	strbuf_release(&text);
	query_table_release(&t);
	query_release(&q);
	profile_free(p);
}

TEST(test_callers_of_a_small_part_are_not_named)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 20, SERVE "lookup /lib/libjvm.so -");
	stack_texts_add_sample(p, 80, "run /lib/libjvm.so -\nlookup /lib/libjvm.so -");
	check(p, QUERY_ORDER_SELF,
	      "0 run 80\n0 lookup 80\nbeside main 20\nin libjvm.so 80\n"
	      "lookup 100 by -\nrun 0 by -\n_start 0 by -\n");
	p = profile_new();
	stack_texts_add_sample(p, 30, SERVE "lookup /lib/libjvm.so -");
	stack_texts_add_sample(p, 70, "run /lib/libjvm.so -\nlookup /lib/libjvm.so -");
	check(p, QUERY_ORDER_SELF,
	      "0 run 70\n0 lookup 70\nbeside main 30\nin libjvm.so 70\n"
	      "lookup 100 by serve\nrun 0 by -\n_start 0 by -\n");
}

/* Adds a thread's waits for events and sleeps, as often as they alternate. */
static void add_loop(struct profile *p, const char *sleeper, int changes, uint8_t reason)
{
	_cleanup_free_ char *stack = xasprintf(SERVE "%s /app app.c\nusleep libc.so.6 -", sleeper);

	for (int i = 0; i < changes; i++) {
		stack_texts_add_call(p, 1, SERVE "poll libc.so.6 -", "[epoll_wait] - -", reason);
		stack_texts_add_call(p, 30, stack, "[clock_nanosleep] - -", IDLE_TIMER);
	}
}

TEST(test_sleeps_of_event_loops)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 10, SERVE);
	add_loop(p, "handle", 5, IDLE_OTHER);
	check(p, QUERY_ORDER_SELF,
	      "0 main 10\n0 serve 10\nin app 10\nserve 10 by -\n_start 0 by -\nmain 0 by -\n"
	      "blocked 150 in handle by serve, kind 1\nblocked 150\n");
	/* One sleep is enough in a callback. */
	p = profile_new();
	stack_texts_add_sample(p, 10, SERVE);
	stack_texts_add_call(p, 30,
			     SERVE "Handle._run - /usr/lib/python3.11/asyncio/events.py\n"
				   "handle - /app/app.py\nsleep libc.so.6 -",
			     "[clock_nanosleep] - -", IDLE_TIMER);
	check(p, QUERY_ORDER_SELF,
	      "0 main 10\n0 serve 10\nin app 10\nserve 10 by -\n_start 0 by -\nmain 0 by -\n"
	      "blocked 30 in handle by serve, kind 1\nblocked 30\n");
	/* A program that polls at first and sleeps then has no loop. */
	p = profile_new();
	stack_texts_add_sample(p, 60, SERVE);
	add_loop(p, "handle", 2, IDLE_OTHER);
	check(p, QUERY_ORDER_SELF,
	      "0 main 60\n0 serve 60\nin app 60\nserve 60 by -\n_start 0 by -\nmain 0 by -\n");
	/* Nor has one that waits for answers. */
	p = profile_new();
	stack_texts_add_sample(p, 200, SERVE);
	add_loop(p, "handle", 5, IDLE_SOCKET);
	check(p, QUERY_ORDER_SELF,
	      "0 main 200\n0 serve 200\nin app 200\nserve 200 by -\n_start 0 by -\nmain 0 by -\n"
	      "blocked 5 in serve by main, kind 7\nblocked 5\n");
}

TEST(test_sleeps_of_main_threads)
{
	struct profile *p = profile_new();

	/* Longer than anything ran. */
	stack_texts_add_sample(p, 10, SERVE);
	add_loop(p, "retry", 2, IDLE_OTHER);
	check(p, QUERY_ORDER_SELF,
	      "0 main 10\n0 serve 10\nin app 10\nserve 10 by -\n_start 0 by -\nmain 0 by -\n"
	      "blocked 60 in retry by serve, kind 1\nblocked 60\n");
	p = profile_new();
	stack_texts_add_sample(p, 10, SERVE);
	add_loop(p, "retry", 2, IDLE_OTHER);
	threads_get(&p->threads, 0)->is_main = false;
	check(p, QUERY_ORDER_SELF,
	      "0 main 10\n0 serve 10\nin app 10\nserve 10 by -\n_start 0 by -\nmain 0 by -\n");
}

TEST(test_waits_are_those_below_the_users_code)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 10, SERVE);
	add_wait(p, 300, "clone libc.so.6 -\nPark /jdk/libjvm.so -", IDLE_CONDITION);
	add_wait(p, 40, SERVE "get /app cache.c\nlock libc.so.6 -", IDLE_LOCK);
	add_wait(p, 20, SERVE "get /app cache.c\nlock_slow libc.so.6 -", IDLE_LOCK);
	add_wait(p, 50, SERVE "get /app cache.c\nread libc.so.6 -", IDLE_DISK);
	add_wait(p, 500, SERVE "sleep libc.so.6 -", IDLE_TIMER);
	check(p, QUERY_ORDER_SELF,
	      "0 main 10\n0 serve 10\nin app 10\nserve 10 by -\n_start 0 by -\nmain 0 by -\n"
	      "blocked 60 in get by serve, kind 2\nblocked 50 in get by serve, kind 4\nblocked 110\n");
}

/* Functions that only wait, and those without a name, have a caller that has the reason. */
TEST(test_waits_are_those_of_functions_with_a_reason)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 10, SERVE);
	add_wait(p, 60,
		 SERVE "heap_update /app heap.c\nXactLockTableWait /app lmgr.c\n"
		       "LockAcquireExtended /app lock.c\nfun_30 /app -\nProcSleep /app proc.c\n"
		       "WaitLatch /app latch.c\nepoll_wait libc.so.6 -",
		 IDLE_LOCK);
	name(p, "fun_30", "fun_30");
	add_wait(p, 55,
		 SERVE
		 "app::Cache::lookup /app cache.cc\napp::Guard::Guard(app::Mutex&) /app guard.h\n"
		 "app::Mutex::lock() /app guard.h\nlock libc.so.6 -",
		 IDLE_LOCK);
	/* A thread that waits for the others has no reason of its own. */
	add_wait(p, 100, MAIN "pthread_join libc.so.6 -", IDLE_CONDITION);
	check(p, QUERY_ORDER_SELF,
	      "0 main 10\n0 serve 10\nin app 10\nserve 10 by -\n_start 0 by -\nmain 0 by -\n"
	      "blocked 60 in XactLockTableWait by heap_update, kind 2\n"
	      "blocked 55 in app::Cache::lookup by serve, kind 2\n"
	      "blocked 100 in main by -, kind 3\nblocked 215\n");
}

TEST(test_idle_places_without_anything_else)
{
	struct profile *p = profile_new();

	stack_texts_add_sample(p, 0, SERVE);
	add_wait(p, 500, SERVE "sleep libc.so.6 -", IDLE_TIMER);
	check(p, QUERY_ORDER_SELF, "idle 500 in serve by main, kind 1\n");
	p = profile_new();
	stack_texts_add_sample(p, 0, SERVE);
	add_wait(p, 500, SERVE "sleep libc.so.6 -", IDLE_TIMER);
	add_wait(p, 7, SERVE "get /app cache.c\nlock libc.so.6 -", IDLE_LOCK);
	check(p, QUERY_ORDER_SELF, "blocked 7 in get by serve, kind 2\nblocked 7\n");
}

/* Adds a marker of the waker, whose stack is unknown if it is NULL. */
static void add_waker(struct profile *p, uint64_t from, uint64_t until, const char *stack)
{
	struct markers *m = &p->markers;
	schema_id schema = schema_text_intern(marker_schema(MARKER_WOKEN), &m->schemas,
					      &p->strings);
	struct marker marker = markers_make(m, schema, from, until);
	stack_id id = NO_STACK;

	if (stack)
		id = stacks_intern(&p->stacks, NO_STACK, stack_texts_add_frame(p, stack));
	*marker_value(m, &marker, WOKEN_WAKER) = marker_string(strings_intern(&p->strings, "app"));
	*marker_value(m, &marker, WOKEN_TID) = (struct marker_value){.type = FIELD_THREAD_ID,
								     .number = 1};
	*marker_value(m, &marker, WOKEN_STACK) = marker_stack(id);
	vec_push(&vec_last(&p->threads.rows).markers, marker);
}

static const struct wait_place *place_in(const struct digest *d, const char *function)
{
	vec_for_each(&d->waits, const struct wait_place *, place) {
		if (strcmp(function_name(d, place->key), function) == 0)
			return place;
	}
	fail_msg("not blocked in %s", function);
	return NULL;
}

TEST(test_wakers_of_waits)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct profile *p = profile_new();
	const struct wait_place *place;
	struct digest d;
	struct query q;

	stack_texts_add_sample(p, 10, SERVE);
	/* An unlock ended 25 of 40 ticks of waits; a thread those of another place. */
	add_wait(p, 15, SERVE "get /app cache.c\nlock libc.so.6 -", IDLE_LOCK);
	add_waker(p, 1, 2, "reload /app cache.c");
	stack_texts_add_thread(p, "second");
	add_wait(p, 25, SERVE "get /app cache.c\nlock libc.so.6 -", IDLE_LOCK);
	add_waker(p, 1, 2, "unlock /app cache.c");
	stack_texts_add_thread(p, "third");
	add_wait(p, 7, SERVE "join /app app.c", IDLE_CONDITION);
	add_waker(p, 2, 2, NULL);
	/* The marker is of another wait. */
	stack_texts_add_thread(p, "fourth");
	add_wait(p, 6, SERVE "drain /app app.c", IDLE_CONDITION);
	add_waker(p, 3, 4, "unlock /app cache.c");
	assert_int_equal(query_select(&q, p, &filter, NULL), 0);
	digest_make(&d, &q, &filter, QUERY_ORDER_SELF, 3);
	place = place_in(&d, "get");
	assert_int_equal(place->weight, 40);
	assert_string_equal(function_name(&d, place->waker), "unlock");
	assert_true(place->waker_line > 100);
	place = place_in(&d, "join");
	assert_int_equal(place->waker, DIGEST_NO_KEY);
	assert_string_equal(strings_get(&p->strings, place->waker_name), "thread");
	place = place_in(&d, "drain");
	assert_int_equal(place->waker, DIGEST_NO_KEY);
	assert_int_equal(place->waker_name, NO_STRING);
	digest_release(&d);
	query_release(&q);
	profile_free(p);
}
