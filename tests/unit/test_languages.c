/* SPDX-License-Identifier: MIT */
#include "lib/base/cleanup.h"
#include "lib/model/languages/language.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#define JS LANGUAGE_JAVASCRIPT

static const struct {
	const char *text, *name, *file;
	uint32_t line, column;
	uint8_t language;
	const char *tier; /* NULL: no language */
	bool is_js;
} cases[] = {
	/* V8, current and older */
	{"JS:*fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Optimized", true},
	{"JS:~fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Interpreter", true},
	{"JS:^fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Baseline", true},
	{"JS:+fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Mid-tier", true},
	{"JS:fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Other", true},
	{"LazyCompile:*f file:///w.js:1:2", "f", "/w.js", 1, 2, JS, "Optimized", true},
	{"Function:~f node:fs:12:3", "f", "node:fs", 12, 3, JS, "Interpreter", true},
	{"LazyCompile:*f vm.js:12", "f", "vm.js", 12, 0, JS, "Optimized", true},
	{"Script:~ /w.js:1:1", "(anonymous)", "/w.js", 1, 1, JS, "Interpreter", true},
	{"Eval:~ :1:1", "(anonymous)", NULL, 1, 1, JS, "Interpreter", true},
	{"InterpretedFunction:f /w.js:1:1", "f", "/w.js", 1, 1, JS, "Interpreter", true},
	{"JS:o*fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Optimized", true},
	{"JS:*'fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Optimized", true},
	{"JS:o+'fib /tmp/w.js:1:13", "fib", "/tmp/w.js", 1, 13, JS, "Mid-tier", true},
	{"JS:open /tmp/w.js:1:13", "open", "/tmp/w.js", 1, 13, JS, "Other", true},
	{"JS:*lonely", "lonely", NULL, 0, 0, JS, "Optimized", true},
	{"JS:*", "(anonymous)", NULL, 0, 0, JS, "Optimized", true},
	{"JS:", "(anonymous)", NULL, 0, 0, JS, "Other", true},
	/* Spaces in either part */
	{"JS:*get a /b c/d.js:4:5", "get a", "/b c/d.js", 4, 5, JS, "Optimized", true},
	{"JS:*a b file.js:4:5", "a", "b file.js", 4, 5, JS, "Optimized", true},
	{"JS:*f webpack-internal:///./a.js:4:5", "f", "webpack-internal:///./a.js", 4, 5, JS,
	 "Optimized", true},
	/* Numbers that are not a place */
	{"JS:*f /w.js:1234567890:1", "f", "/w.js:1234567890", 1, 0, JS, "Optimized", true},
	{"JS:*f /w.js:", "f", "/w.js:", 0, 0, JS, "Optimized", true},
	{"JS:*f 1:2", "f", "1", 2, 0, JS, "Optimized", true},
	/* Code that is no function of a script: its name tells what it is. */
	{"Builtin:ArrayMap", "Builtin:ArrayMap", NULL, 0, 0, JS, "Builtin", false},
	{"BytecodeHandler:Add", "BytecodeHandler:Add", NULL, 0, 0, JS, "Interpreter", false},
	{"RegExp:a b:1", "RegExp:a b:1", NULL, 0, 0, JS, "RegExp", false},
	{"RegExp.> src: 'a' flags: 'g'", "RegExp.> src: 'a' flags: 'g'", NULL, 0, 0, JS, "RegExp",
	 false},
	{"Stub:x", "Stub:x", NULL, 0, 0, JS, "Other", false},
	/* Its WebAssembly */
	{"JS:wasm-function[1]-1-liftoff", "wasm-function[1]", NULL, 0, 0, JS, "Baseline", true},
	{"JS:wasm-function[1]-1-turbofan", "wasm-function[1]", NULL, 0, 0, JS, "Optimized", true},
	{"JS:add two-12-turbofan", "add two", NULL, 0, 0, JS, "Optimized", true},
	{"JS:*take-liftoff", "take-liftoff", NULL, 0, 0, JS, "Optimized", true},
	{"JS:*-1-liftoff", "-1-liftoff", NULL, 0, 0, JS, "Optimized", true},
	{"Wasm:hot wasm://wasm/a.wasm", "hot", "wasm://wasm/a.wasm", 0, 0, JS, "WebAssembly", true},
	{"Wasm:a wasm://b c wasm://wasm/d e", "a wasm://b c", "wasm://wasm/d e", 0, 0, JS,
	 "WebAssembly", true},
	{"Wasm:std::f(a, std::b) wasm://wasm/9-bytes", "std::f(a, std::b)", "wasm://wasm/9-bytes",
	 0, 0, JS, "WebAssembly", true},
	{"Wasm:wasm-to-js", "wasm-to-js", NULL, 0, 0, JS, "WebAssembly", true},
	/* JavaScriptCore */
	{"JSC-FTL: spin#B5Z0Ns", "spin", NULL, 0, 0, JS, "Optimized", true},
	{"JSC-DFG: a#b#B5Z0Ns", "a#b", NULL, 0, 0, JS, "Mid-tier", true},
	{"JSC-Baseline: #B5Z0Ns", "(anonymous)", NULL, 0, 0, JS, "Baseline", true},
	{"JSC-Baseline: f", "f", NULL, 0, 0, JS, "Baseline", true},
	{"JSC-Thunk: call", "JSC-Thunk: call", NULL, 0, 0, JS, "Other", false},
	/* Erlang */
	{"work:spin/2", "work:spin/2", NULL, 0, 0, LANGUAGE_ERLANG, "Other", false},
	{"'Elixir.Work':'spin?'/12", "'Elixir.Work':'spin?'/12", NULL, 0, 0, LANGUAGE_ERLANG,
	 "Other", false},
	{"global::call_bif", "global::call_bif", NULL, 0, 0, LANGUAGE_ERLANG, "Runtime", false},
	{"work:spin", "work:spin", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"work:spin/2x", "work:spin/2x", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"'work:spin/2", "'work:spin/2", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	/* .NET */
	{"int32 [Fib] P::fib(int32)[OptimizedTier1]", "P::fib", "Fib", 0, 0, LANGUAGE_DOTNET,
	 "Optimized", false},
	{"int32 [Fib] P::fib(int32)[QuickJitted]", "P::fib", "Fib", 0, 0, LANGUAGE_DOTNET, "Quick",
	 false},
	{"instance void [System.Private.CoreLib] System.Collections.Generic.List`1[System.__Canon]"
	 "::Add(!0)[PreJIT]",
	 "System.Collections.Generic.List`1[System.__Canon]::Add", "System.Private.CoreLib", 0, 0,
	 LANGUAGE_DOTNET, "Precompiled", false},
	{"void [a b] C::f(class X[])", "C::f", "a b", 0, 0, LANGUAGE_DOTNET, "Other", false},
	{"stub<248> AllocateTemporaryEntryPoints<PRECODE_FIXUP>",
	 "AllocateTemporaryEntryPoints<PRECODE_FIXUP>", NULL, 0, 0, LANGUAGE_DOTNET, "Stub", false},
	{"stub<x> y", "stub<x> y", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"stub<1> ", "stub<1> ", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"int [a] ::f()", "int [a] ::f()", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"int [a] C::()", "int [a] C::()", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"a::b(int [3])", "a::b(int [3])", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	/* CPython */
	{"py::K.run:/tmp/w.py", "K.run", "/tmp/w.py", 0, 0, LANGUAGE_PYTHON, "Other", false},
	{"py::f.<locals>.<genexpr>:<frozen site>", "f.<locals>.<genexpr>", "<frozen site>", 0, 0,
	 LANGUAGE_PYTHON, "Other", false},
	{"py::f", "f", NULL, 0, 0, LANGUAGE_PYTHON, "Other", false},
	{"py::", "py::", NULL, 0, 0, LANGUAGE_PYTHON, "Other", false},
	{"py:::", "py:::", NULL, 0, 0, LANGUAGE_PYTHON, "Other", false},
	/* numba */
	{"_ZN8__main__3fibB2v3B38c8tJTIeFIjxB2IKSgI4CrvQClQZ6FczSBAA_3dEx", "8__main__3fib", NULL,
	 0, 0, LANGUAGE_PYTHON, "Other", false},
	{"cfunc._ZN8__main__3fibB3v12B8c8tJTIeFEx", "cfunc._ZN8__main__3fib", NULL, 0, 0,
	 LANGUAGE_PYTHON, "Other", false},
	{"_ZN3foo3barEi", "_ZN3foo3barEi", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"_ZN3foo3barB5cxx11Ev", "_ZN3foo3barB5cxx11Ev", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"_ZN9x", "_ZN9x", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"_ZN1fB2v1", "_ZN1fB2v1", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"_ZNB2v1B1xE", "_ZNB2v1B1xE", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	/* Anything else */
	{"int W.fib(int)", "int W.fib(int)", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"js:*f /w.js:1:2", "js:*f /w.js:1:2", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"*", "*", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
	{"", "", NULL, 0, 0, LANGUAGE_NONE, NULL, false},
};

TEST(texts_of_compilers)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct code_name name;

		code_name_parse(&name, cases[i].text, strlen(cases[i].text));
		assert_int_equal(name.name_size, strlen(cases[i].name));
		assert_memory_equal(name.name, cases[i].name, name.name_size);
		assert_int_equal(name.file != NULL, cases[i].file != NULL);
		if (name.file) {
			assert_int_equal(name.file_size, strlen(cases[i].file));
			assert_memory_equal(name.file, cases[i].file, name.file_size);
		}
		assert_int_equal(name.line, cases[i].line);
		assert_int_equal(name.column, cases[i].column);
		assert_int_equal(name.language, cases[i].language);
		if (cases[i].tier)
			assert_string_equal(
				languages[name.language]->category.subcategories[name.tier],
				cases[i].tier);
		assert_int_equal(name.is_js, cases[i].is_js);
	}
}

/* Every prefix, in memory that ends there: sanitizers see reads beyond it. */
TEST(texts_that_end_anywhere)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (size_t size = 0; size <= strlen(cases[i].text); size++) {
			char *text = malloc(size + !size);
			struct code_name name;

			memcpy(text, cases[i].text, size);
			code_name_parse(&name, text, size);
			assert_true(name.name_size || !size);
			assert_true(!name.file || name.file_size);
			free(text);
		}
	}
}

/* JRuby's mark, and the space that it has between the parts of a name. */
#define MARK "\xef\xb8\x8f\xe2\x9d\xa4"
#define NBSP "\xc2\xa0"

/* Methods as languages for the JVM compile them. */
static const struct {
	const char *name, *file;
	const char *own; /* NULL: the name is right */
	enum code_role role;
} methods[] = {
	{"prog." MARK NBSP "script", "prog.rb", "<main>", CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "rb_leaf" NBSP "#0", "prog.rb", "rb_leaf", CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "rb_leaf" NBSP "#0" NBSP "**", "prog.rb", "rb_leaf",
	 CODE_ENTRY},
	{"prog." MARK NBSP "{}" NBSP "each_one" NBSP "#8", "prog.rb", "block in each_one",
	 CODE_OWN},
	{"prog." MARK NBSP "{}" NBSP "\\=\\^main\\_" NBSP "#1", "prog.rb", "block in <main>",
	 CODE_OWN},
	{"prog." MARK NBSP "class" NBSP "Worker" NBSP "#1", "prog.rb", "<class:Worker>", CODE_OWN},
	{"prog." MARK NBSP "module" NBSP "Mod" NBSP "#16", "prog.rb", "<module:Mod>", CODE_OWN},
	{"prog." MARK NBSP "metaclass" NBSP "#4", "prog.rb", "singleton class", CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "\\=\\{\\}" NBSP "#10", "prog.rb", "[]", CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "\\=\\^=\\_" NBSP "#11", "prog.rb", "<=>", CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "a?" NBSP "#14", "prog.rb", "a?", CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "\\=\\-\\|\\,\\?\\!\\%" NBSP "#2", "prog.rb", "\\/.;:$",
	 CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "rb_leaf" NBSP "#0", "", "rb_leaf", CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "rb_leaf" NBSP "#0"
	 "(ThreadContext, IRubyObject[])",
	 "/a/prog.rb", "rb_leaf", CODE_OWN},
	{"prog." MARK NBSP "def", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "f", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "f" NBSP "#", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "f" NBSP "1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "\\=\\x" NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "\\=a\\" NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "a\\^" NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "def" NBSP "\\=" NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "fed" NBSP "f" NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "script" NBSP "x", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK NBSP "class" NBSP "#1", "prog.rb", NULL, CODE_OWN},
	{"prog." MARK, "prog.rb", NULL, CODE_OWN},
	{"a.b.v.RUBY$script", "v.rb", "<main>", CODE_OWN},
	{"a.b.v.RUBY$method$rb_leaf$0", "v.rb", "rb_leaf", CODE_OWN},
	{"a.b.v.RUBY$method$leaf$9$__VARARGS__", "v.rb", "leaf", CODE_ENTRY},
	{"a.b.v.RUBY$block$each_one$8", "v.rb", "block in each_one", CODE_OWN},
	{"a.b.v.RUBY$block$\\=\\^main\\_$0", "v.rb", "block in <main>", CODE_OWN},
	{"a.b.v.RUBY$class$Foo$2", "v.rb", "<class:Foo>", CODE_OWN},
	{"a.b.v.RUBY$module$Mod$16", "v.rb", "<module:Mod>", CODE_OWN},
	{"a.b.v.RUBY$metaclass$4", "v.rb", "singleton class", CODE_OWN},
	{"a.b.v.RUBY$method$\\=\\{\\}$10", "v.rb", "[]", CODE_OWN},
	{"v.RUBY$", "v.rb", NULL, CODE_OWN},
	{"v.RUBY$method$", "v.rb", NULL, CODE_OWN},
	{"v.RUBY$method$$0", "v.rb", NULL, CODE_OWN},
	{"v.RUBY$method$f", "v.rb", NULL, CODE_OWN},
	{"v.RUBY$eval$f$0", "v.rb", NULL, CODE_OWN},
	{"v.RUBYscript", "v.rb", NULL, CODE_OWN},
	{"v.RUBY$method$\\=\\$0", "v.rb", NULL, CODE_OWN},
	{"prog.run", "prog.rb", "<main>", CODE_ENTRY},
	{"prog.run", "prog.java", NULL, CODE_OWN},
	{"prog.run", "", NULL, CODE_OWN},
	{"prog.invokeOther16:getStackTrace", "prog.rb", "getStackTrace (call)", CODE_MACHINERY},
	{"prog.invokeOtherOneFixnum9:&", "prog.rb", "& (call)", CODE_MACHINERY},
	{"prog.invokeOther6:\\=\\^", "prog.rb", "< (call)", CODE_MACHINERY},
	{"prog.invokeOther16", "prog.rb", NULL, CODE_OWN},
	{"prog.invokeOther16:", "prog.rb", NULL, CODE_OWN},
	{"prog.invokeOther:f", "prog.rb", NULL, CODE_OWN},
	{"prog.invoke_x1:f", "prog.rb", NULL, CODE_OWN},
	{"prog.invokeOther1:\\=\\", "prog.rb", NULL, CODE_OWN},
	{"org.python.pycode._pyx0.jy_leaf$1", "prog.py", "jy_leaf", CODE_OWN},
	{"org.python.pycode._pyx0.f$0", "prog.py", "<module>", CODE_OWN},
	{"org.python.pycode._pyx0.f$3", "prog.py", "f$3", CODE_OWN},
	{"org.python.pycode._pyx0.__str__$4", "prog.py", "__str__", CODE_OWN},
	{"org.python.pycode._pyx0.call_function", "prog.py", "(call)", CODE_MACHINERY},
	{"mod$py.go$2", "mod.py", "go", CODE_OWN},
	{"mod$py.go$2(PyFrame, ThreadState)", "mod.py", "go", CODE_OWN},
	{"org.python.pycode._pyx0.jy_leaf$1", "prog.java", NULL, CODE_OWN},
	{"org.python.pycode._pyx0.jy_leaf$1", "", NULL, CODE_OWN},
	{"org.python.pycode._pyx0.jy_leaf", "prog.py", NULL, CODE_OWN},
	{"org.python.pycode._pyx0.$1", "prog.py", NULL, CODE_OWN},
	{"org.python.pycode._pyx0.jy_leaf$", "prog.py", NULL, CODE_OWN},
	{"_pyx.f$1", "prog.py", NULL, CODE_OWN},
	{"Other.f$1", "prog.py", NULL, CODE_OWN},
	{"prog$heavy_BANG_.invokeStatic", "prog.clj", "prog/heavy!", CODE_OWN},
	{"prog$heavy_BANG_.invoke", "prog.clj", "prog/heavy!", CODE_ENTRY},
	{"prog$clj_leaf.invokePrim", "prog.clj", "prog/clj-leaf", CODE_ENTRY},
	{"prog$all.doInvoke", "prog.clj", "prog/all", CODE_ENTRY},
	{"prog$light_QMARK_.invoke", "prog.clj", "prog/light?", CODE_ENTRY},
	{"prog$via_map$inner_fn__149.invoke", "prog.clj", "prog/via-map/inner-fn", CODE_ENTRY},
	{"clojure.core$map$fn__5884$fn__5885.invoke", "prog.clj", "clojure.core/map/fn/fn",
	 CODE_ENTRY},
	{"a_b.c$__GT_T.invokeStatic", "prog.clj", "a-b.c/->T", CODE_OWN},
	{"a$_STAR__PLUS__SINGLEQUOTE_.invokeStatic", "prog.clj", "a/*+'", CODE_OWN},
	{"prog.T.__GT_go", "prog.clj", "prog.T/->go", CODE_OWN},
	{"prog$f$reify__12.conform_STAR_", "prog.clj", "prog/f/reify/conform*", CODE_OWN},
	{"prog$eval128$fn__118$G__118__135.invoke", "prog.clj", "prog/eval128/fn/G", CODE_ENTRY},
	{"prog$f_BANG.invokeStatic", "prog.clj", "prog/f-BANG", CODE_OWN},
	{"prog$__12.invokeStatic", "prog.clj", "prog/--12", CODE_OWN},
	{"prog$.invokeStatic", "prog.clj", "prog/", CODE_OWN},
	{"prog$go.invokeStatic(Object, Object)", "prog.clj", "prog/go", CODE_OWN},
	{"prog$heavy_BANG_.invoke", "", NULL, CODE_OWN},
	{"prog$heavy_BANG_.invoke", "prog.java", NULL, CODE_OWN},
	{"prog__init.load", "prog.clj", NULL, CODE_OWN},
	{"prog$f.<init>", "prog.clj", NULL, CODE_OWN},
	{"sc.Obj$.$plus$plus$plus", "sc/Prog.scala", "sc.Obj.+++", CODE_OWN},
	{"sc.Prog$package$.scLeaf", "sc/Prog.scala", "sc.scLeaf", CODE_OWN},
	{"sc.package$.f", "sc/Prog.scala", "sc.f", CODE_OWN},
	{"Prog$package$.f", "sc/Prog.scala", "f", CODE_OWN},
	{"sc.Cl.run$$anonfun$1", "sc/Prog.scala", "sc.Cl.run (lambda)", CODE_OWN},
	{"sc.Cl.run$$anonfun$1$$anonfun$2", "sc/Prog.scala", "sc.Cl.run (lambda)", CODE_OWN},
	{"sc.Cl.$anonfun$run$1", "sc/Prog.scala", "sc.Cl.run (lambda)", CODE_OWN},
	{"sc.Cl.$anonfun$run$1$adapted", "sc/Prog.scala", "sc.Cl.run (lambda)", CODE_ENTRY},
	{"sc.L$.$init$$$anonfun$adapted$1", "sc/Prog.scala", "sc.L.$init$ (lambda)", CODE_ENTRY},
	{"sc.Tr.inTrait$", "sc/Prog.scala", "sc.Tr.inTrait", CODE_ENTRY},
	{"sc.Tr.$init$", "sc/Prog.scala", "sc.Tr.$init$", CODE_OWN},
	{"sc.Cl.lz$lzycompute", "sc/Prog.scala", "sc.Cl.lz (lazy)", CODE_OWN},
	{"sc.Cl.lz$lzyINIT1", "sc/Prog.scala", "sc.Cl.lz (lazy)", CODE_OWN},
	{"sc.R$.to$extension", "sc/Prog.scala", "sc.R.to", CODE_OWN},
	{"sc.Cl.sc$Cl$$secret", "sc/Prog.scala", "sc.Cl.secret", CODE_OWN},
	{"sc.O$.sc$O$$$secret", "sc/Prog.scala", "sc.O.secret", CODE_OWN},
	{"scala.$colon$colon.x_$eq", "sc/Prog.scala", "scala.::.x_=", CODE_OWN},
	{"sc.Cl.unary_$bang", "sc/Prog.scala", "sc.Cl.unary_!", CODE_OWN},
	{"sc.Cl.a$u0020b", "sc/Prog.scala", "sc.Cl.a b", CODE_OWN},
	{"sc.Cl.a$u000ab", "sc/Prog.scala", "sc.Cl.a$u000ab", CODE_OWN},
	{"sc.Cl.a$u00", "sc/Prog.scala", "sc.Cl.a$u00", CODE_OWN},
	{"sc.Out$plusOne.f", "sc/Prog.scala", "sc.Out$plusOne.f", CODE_OWN},
	{"sc.Cl.f(int)", "sc/Prog.scala", "sc.Cl.f(int)", CODE_OWN},
	{"sc.Cl.$greater$eq(int)", "sc/Prog.scala", "sc.Cl.>=(int)", CODE_OWN},
	{"sc.Cl.$anonfun$1", "sc/Prog.scala", "sc.Cl.$anonfun$1", CODE_OWN},
	{"sc.Cl.$", "sc/Prog.scala", NULL, CODE_OWN},
	{"sc.Obj$.$plus", "", NULL, CODE_OWN},
	{"sc.Obj$.$plus", "Obj.java", NULL, CODE_OWN},
	{"ProgKt.ktLeaf", "p/Prog.kt", "ktLeaf", CODE_OWN},
	{"p.ProgKt.ktLeaf(int)", "p/Prog.kt", "p.ktLeaf(int)", CODE_OWN},
	{"ProgKt$main$1.invokeSuspend", "p/Prog.kt", "main (suspend)", CODE_OWN},
	{"ProgKt$main$1$2.invokeSuspend", "p/Prog.kt", "main (suspend)", CODE_OWN},
	{"p.Cl$load$1.invokeSuspend", "p/Prog.kt", "p.Cl.load (suspend)", CODE_OWN},
	{"p.Cl$In$load$1.invoke", "p/Prog.kt", "p.Cl$In.load (lambda)", CODE_OWN},
	{"K.lam$lambda$0", "p/Prog.kt", "K.lam (lambda)", CODE_OWN},
	{"K$Companion.comp", "p/Prog.kt", "K.comp", CODE_OWN},
	{"F__ProgKt.f", "p/Prog.kt", "F__ProgKt.f", CODE_OWN},
	{"p.FKt__ProgKt.f$default", "p/Prog.kt", "p.f", CODE_ENTRY},
	{"K.access$f", "p/Prog.kt", "K.f", CODE_ENTRY},
	{"K.f$suspendImpl", "p/Prog.kt", "K.f", CODE_OWN},
	{"V.f-impl", "p/Prog.kt", "V.f", CODE_OWN},
	{"V.f-1a_B2c3", "p/Prog.kt", "V.f", CODE_OWN},
	{"V.f-1a_B2c", "p/Prog.kt", "V.f-1a_B2c", CODE_OWN},
	{"ProgKt.name with spaces", "p/Prog.kt", "name with spaces", CODE_OWN},
	{"ProgKt.main(String[])", "p/Prog.kt", "main(String[])", CODE_OWN},
	{"OtherKt.f", "p/Prog.kt", "OtherKt.f", CODE_OWN},
	{"K$1.invoke", "p/Prog.kt", "K$1.invoke", CODE_OWN},
	{"$1.invoke", "p/Prog.kt", "$1.invoke", CODE_OWN},
	{"K$$1.invoke", "p/Prog.kt", "K$$1.invoke", CODE_OWN},
	{"K.$default", "p/Prog.kt", NULL, CODE_OWN},
	{"p.FKt__A_bKt.f", "A.b.kt", "p.f", CODE_OWN},
	{"ProgKt.ktLeaf", "", NULL, CODE_OWN},
	{"progKt.f", "Prog.kt", "progKt.f", CODE_OWN},
	{"ProgKt.f", "prog.kt", "f", CODE_OWN},
	{"W$_light_closure1.doCall", "W.groovy", "W.light (closure)", CODE_OWN},
	{"W$_each_closure2$_closure3.doCall(Object)", "W.groovy", "W.each(Object) (closure)",
	 CODE_OWN},
	{"W$_closure1.doCall", "W.groovy", "W (closure)", CODE_OWN},
	{"p.W$_a_b_closure1.doCall", "W.groovy", "p.W.a_b (closure)", CODE_OWN},
	{"W.leaf", "W.groovy", NULL, CODE_OWN},
	{"W$_light.doCall", "W.groovy", NULL, CODE_OWN},
	{"$_closure1.doCall", "W.groovy", NULL, CODE_OWN},
	{"W$_light_closure1.doCall", "W.java", NULL, CODE_OWN},
	{"java.lang.invoke.LambdaForm$MH.guard", "", "java.lang.invoke (method handles)",
	 CODE_MACHINERY},
	{"java.lang.invoke.LambdaForm$DMH.invokeStatic", "", "java.lang.invoke (method handles)",
	 CODE_MACHINERY},
	{"java.lang.invoke.DelegatingMethodHandle$Holder.delegate", "",
	 "java.lang.invoke (method handles)", CODE_MACHINERY},
	{"java.lang.invoke.Invokers$Holder.linkToCallSite", "", "java.lang.invoke (method handles)",
	 CODE_MACHINERY},
	{"java.lang.invoke.DirectMethodHandle$Holder.invokeStatic(Object, Object)", "",
	 "java.lang.invoke (method handles)", CODE_MACHINERY},
	{"java.lang.invoke.MethodHandle.invokeBasic", "java/lang/invoke/MethodHandle.java",
	 "java.lang.invoke (method handles)", CODE_MACHINERY},
	{"java.lang.invoke.MethodHandle.linkToStatic(Object, Object)",
	 "java/lang/invoke/MethodHandle.java", "java.lang.invoke (method handles)", CODE_MACHINERY},
	{"java.lang.invoke.MethodHandle.invokeWithArguments", "java/lang/invoke/MethodHandle.java",
	 NULL, CODE_OWN},
	{"java.lang.invoke.LambdaForm$Name.<init>", "java/lang/invoke/LambdaForm.java", NULL,
	 CODE_OWN},
	{"java.lang.invoke.LambdaForms.f", "", NULL, CODE_OWN},
	{"my.java.lang.invoke.LambdaForm$MH.f", "", NULL, CODE_OWN},
	{"java.lang.invoke.Other$Holder.f", "", NULL, CODE_OWN},
	{"call_stub", "C.java", NULL, CODE_OWN},
	{"I2C/C2I adapters", "C.java", NULL, CODE_OWN},
	{"StubRoutines (1)", "C.java", NULL, CODE_OWN},
	{"a.b.C.f(int, String)", "C.java", NULL, CODE_OWN},
	{"f", "C.java", NULL, CODE_OWN},
	{"", "C.java", NULL, CODE_OWN},
	{".", "C.java", NULL, CODE_OWN},
	{".f", "C.java", NULL, CODE_OWN},
	{"f.", "C.java", NULL, CODE_OWN},
	{")", "C.java", NULL, CODE_OWN},
	{"()", "C.java", NULL, CODE_OWN},
	{"a.f)", "C.java", NULL, CODE_OWN},
	{"a.()", "C.java", NULL, CODE_OWN},
	{"....", "C.java", NULL, CODE_OWN},
	{"a.$", "C.java", NULL, CODE_OWN},
	{"$.$", "C.java", NULL, CODE_OWN},
};

TEST(methods_have_the_names_of_their_language)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		struct strbuf own = {0};
		enum code_role role = languages[LANGUAGE_JAVA]->translate(
			methods[i].name, strlen(methods[i].name), methods[i].file,
			strlen(methods[i].file), &own);

		assert_string_equal(strbuf_text(&own), methods[i].own ? methods[i].own : "");
		assert_int_equal(role, methods[i].role);
		strbuf_release(&own);
	}
}

/* Every piece of a name and file, in memory that ends there: sanitizers see reads beyond it. */
TEST(methods_with_names_cut_anywhere)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		size_t length = strlen(methods[i].name);

		for (size_t size = 0; size <= length; size++) {
			char *front = malloc(size + !size), *back = malloc(size + !size);
			const char *const ends[] = {front, back};

			memcpy(front, methods[i].name, size);
			memcpy(back, methods[i].name + length - size, size);
			for (size_t j = 0; j < 2; j++) {
				struct strbuf own = {0};

				languages[LANGUAGE_JAVA]->translate(ends[j], size, methods[i].file,
								    strlen(methods[i].file), &own);
				assert_true(own.size <= size + 32);
				strbuf_release(&own);
			}
			free(front);
			free(back);
		}
	}
}

static void check_stripped(const char *name, const char *wanted)
{
	struct strbuf out = {0};

	assert_int_equal(language_python.translate(name, strlen(name), "", 0, &out), CODE_OWN);
	assert_string_equal(strbuf_text(&out), wanted ? wanted : "");
	strbuf_release(&out);
}

static void expect_regexp(const char *name, const char *wanted)
{
	struct strbuf out = {0};

	assert_int_equal(language_javascript.translate(name, strlen(name), "", 0, &out), CODE_OWN);
	assert_string_equal(strbuf_text(&out), wanted);
	strbuf_release(&out);
}

TEST(regular_expressions)
{
	expect_regexp("RegExp:a b", "RegExp: a b");
	expect_regexp("RegExp:", "RegExp");
	expect_regexp("RegExp.> src: 'a' flags: 'g'", "RegExp: a");
	expect_regexp("RegExp.< src: '' flags: '' flags: ''", "RegExp: ' flags: '");
	expect_regexp("RegExp.> src: 'a", "RegExp");
	expect_regexp("RegExp.", "RegExp");
	expect_regexp("RegExpOf", "");
}

static void expect_numba(const char *name, const char *wanted, enum code_role role)
{
	struct strbuf out = {0};

	assert_int_equal(language_python.translate(name, strlen(name), "", 0, &out), role);
	assert_string_equal(strbuf_text(&out), wanted);
	strbuf_release(&out);
}

TEST(functions_of_numba)
{
	expect_numba("8__main__3fib", "__main__.fib", CODE_OWN);
	expect_numba("1a1b4f_241", "a.b.f_24", CODE_OWN);
	expect_numba("1m4make12_3clocals_3e5inner", "m.make.<locals>.inner", CODE_OWN);
	expect_numba("7cpython8__main__3fib", "__main__.fib", CODE_ENTRY);
	expect_numba("cfunc._ZN8__main__3fib", "__main__.fib", CODE_ENTRY);
}

TEST(names_of_procedures)
{
	check_stripped("__plpython_procedure_py_hot_16394", "py_hot");
	check_stripped("__plpython_procedure_py_hot_16394.<locals>.inner", "py_hot.<locals>.inner");
	check_stripped("__plpython_procedure_f_1_2.<locals>.g_3", "f_1.<locals>.g_3");
	check_stripped("__plpython_procedure_py_hot", NULL);
	check_stripped("__plpython_procedure_py_hot_", NULL);
	check_stripped("__plpython_procedure_16394", NULL);
	check_stripped("__plpython_procedure__16394", NULL);
	check_stripped("__plpython_procedure_", NULL);
	check_stripped("__plpython_inline_block", NULL);
	check_stripped("f", NULL);
	check_stripped("", NULL);
}

TEST(names_of_all_code)
{
	static const char text[] = "py::jit:executor", other[] = "py::jit:executors";

	assert_false(code_name_is_function(text, strlen(text)));
	assert_true(code_name_is_function(other, strlen(other)));
	assert_true(code_name_is_function(text, strlen(text) - 1));
	assert_true(code_name_is_function(text, 0));
	assert_false(code_name_is_function("code_gen_buffer", 15));
}

TEST(rows_are_whole)
{
	for (size_t i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		const struct language *language = languages[i];

		assert_non_null(language);
		assert_non_null(language->category.name);
		assert_non_null(language->category.color);
		assert_string_equal(language->category.subcategories[0], "Other");
		/* Either tells the language of its code. */
		assert_true(language->parse_name || language->library);
	}
	assert_null(languages[LANGUAGE_NONE]);
}

TEST(marks_of_runtimes)
{
	assert_int_equal(language_of_library("libjvm.so"), LANGUAGE_JAVA);
	assert_int_equal(language_of_library("libjvm.so.1"), LANGUAGE_NONE);
	assert_int_equal(language_of_library("libruby-3.1.so.3.1.2"), LANGUAGE_RUBY);
	assert_int_equal(language_of_library("libruby"), LANGUAGE_NONE);
	assert_int_equal(language_of_library(""), LANGUAGE_NONE);
	assert_int_equal(language_dump_line_shift(0xdeadbeef), 0x40);
	assert_int_equal(language_dump_line_shift(0), 0);
	assert_int_equal(language_dump_line_shift(1), 0);
}

/* Functions of Erlang and Elixir. */
TEST(names_of_erlang)
{
	static const char *const forms[] = {"work:spin/2", "$work:spin/2",
					    "work:spin/2-CodeInfoPrologue",
					    "$work:spin/2-CodeInfoPrologue"};
	static const struct {
		const char *name, *own; /* "": the name is right */
	} names[] = {
		{"work:spin/2", ""},
		{"'Elixir.Work.Inner':spin/2", "Work.Inner.spin/2"},
		{"'Elixir.Work':'spin?'/2", "Work.spin?/2"},
		{"'Elixir.Work':'-each/1-fun-0-'/1", "anonymous fn/1 in Work.each/1"},
		{"work:'-each/1-fun-0-'/1", "work:each/1-fun-0"},
		{"work:'-each/1-lc$^0/1-0-'/1", "work:each/1-lc$^0/1-0"},
		{"work:'--'/2", ""},
		{"work:'-'/2", ""},
		{"work:'-f-'/2", ""},
		{"'Elixir.':f/2", ""},
		{"global::call_bif", ""},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct code_name parsed;

		code_name_parse(&parsed, forms[i], strlen(forms[i]));
		assert_int_equal(parsed.language, LANGUAGE_ERLANG);
		assert_int_equal(parsed.name_size, strlen("work:spin/2"));
		assert_memory_equal(parsed.name, "work:spin/2", parsed.name_size);
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		_cleanup_(strbuf_release) struct strbuf own = {0};

		languages[LANGUAGE_ERLANG]->translate(names[i].name, strlen(names[i].name), "", 0,
						      &own);
		assert_string_equal(own.size ? own.text : "", names[i].own);
	}
}
