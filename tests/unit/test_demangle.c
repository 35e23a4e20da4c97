/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "symbolize/demangle.h"
#include "tests/unit/test.h"

static void check(const char *mangled, const char *expected)
{
	struct strbuf readable = {0};
	bool is_mangled = demangle(mangled, &readable);

	if (expected) {
		assert_true(is_mangled);
		assert_string_equal(strbuf_text(&readable), expected);
	} else {
		assert_false(is_mangled);
	}
	strbuf_release(&readable);
}

/* A name that only newer versions of libiberty can read. */
static void check_either(const char *mangled, const char *old, const char *newer)
{
	struct strbuf readable = {0};

	assert_true(demangle(mangled, &readable));
	if (strcmp(strbuf_text(&readable), old) != 0)
		assert_string_equal(strbuf_text(&readable), newer);
	strbuf_release(&readable);
}

TEST(cplusplus)
{
	check("_ZN3foo3barEi", "foo::bar");
	check("_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size");
	check("_ZL3foov", "foo");
	check("_ZN12_GLOBAL__N_13fooEi", "(anonymous namespace)::foo");
	/* A mangled return type is not part of the name. */
	check("_Z5twiceIiET_S0_", "twice<int>");
	check("_ZN1BC1Ei", "B::B");
	check("_ZN1BD2Ev", "B::~B");
	check("_ZNK1BcviEv", "B::operator int");
	check("_ZTV1B", "vtable for B");
}

TEST(copies_have_the_name_of_the_function)
{
	check("_Z3foov.cold", "foo");
	check("_Z3fooi.constprop.0", "foo");
	check("_Z3fooi.part.0.isra.0.cold", "foo");
	check("_Z3foov.llvm.1234", "foo");
	check("_RNvCs1234_7mycrate3foo.llvm.1234", "mycrate::foo");
	check("_Z3fooi.constprop.0@plt", "foo@plt");
	/* Suffixes of C names stay: nothing tells what else they could be. */
	check("foo.constprop.0", NULL);
}

TEST(what_is_in_functions)
{
	check("_ZZ3fooiENKUlicE_clEic", "foo::{lambda#1}::operator()");
	check("_ZZ3fooiENKUlvE0_clEv", "foo::{lambda#2}::operator()");
	check("_ZZNK1B3fooEPFviEENKUlvE_clEv", "B::foo::{lambda#1}::operator()");
	check("_ZZ4mainEN5Local3runEi", "main::Local::run");
	check("_ZZN12_GLOBAL__N_13fooEiENKUlvE_clEv",
	      "(anonymous namespace)::foo::{lambda#1}::operator()");
	check("_ZZ3foovE1x", "foo::x");
}

TEST(operators)
{
	check("_ZN1BclEi", "B::operator()");
	check("_ZN1BltERKS_", "B::operator<");
	check("_ZN1BlsEi", "B::operator<<");
	check("_ZN1BptEv", "B::operator->");
	check("_ZlsIiERSoS0_RKT_", "operator<< <int>");
	check("_ZZN1BclEiENKUlvE_clEv", "B::operator()::{lambda#1}::operator()");
	check("_ZZN1BltERKS_ENKUlvE_clEv", "B::operator<::{lambda#1}::operator()");
	check("_ZZ1fIXgtLi1ELi2EEEvvE1x", "f<((1)>(2))>::x");
}

TEST(rust)
{
	check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	check("_ZN4core3fmt17h0123456789abcdefE.llvm.1234", "core::fmt");
	check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	/* Names that other tools demangled as those of C++. */
	check("core::fmt::Write::write_fmt::h0123456789abcdef", "core::fmt::Write::write_fmt");
	check("_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$::drop::h0123456789abcdef",
	      "<alloc::vec::Vec<T> as core::ops::Drop>::drop");
	check("core::ops::function::FnOnce::call_once$u7b$$u7b$vtable.shim$u7d$$u7d$::h0123456789abcdef",
	      "core::ops::function::FnOnce::call_once{{vtable.shim}}");
	check("f::h0123456789abcdeg", NULL);
	check("::h0123456789abcdef", NULL);
	check("f::::h0123456789abcdef", NULL);
	/* Not a hash: a C++ function of that odd name. */
	check("_ZN4core3fmt17h0123456789abcdegE", "core::fmt::h0123456789abcdeg");
}

TEST(stubs)
{
	check("_ZN3foo3barEi@plt", "foo::bar@plt");
	check("_RNvCs1234_7mycrate3foo@plt", "mycrate::foo@plt");
	check("_Z@plt", NULL);
	check("malloc@plt", NULL);
	check("@plt", NULL);
}

TEST(ocaml)
{
	check("camlStdlib__List__map_456", "Stdlib.List.map");
	check("camlStdlib__List.map_456", "Stdlib.List.map");
	check("camlMain__fib_267", "Main.fib");
	check("camlMain__entry", "Main.entry");
	check("camlMain__$3e$3e$3d_301", "Main.>>=");
	check("camlMain__cost$", "Main.cost$");
	check("camlMain__f_1_2", "Main.f_1");
	check("caml_alloc", NULL);
	check("caml", NULL);
	check("camlp4", NULL);
}

TEST(haskell)
{
	check("base_GHCziBase_map_info", "GHC.Base.map");
	check("containerszm0zi6zi7_DataziMapziInternal_insertzuzdsgo_info",
	      "Data.Map.Internal.insert_$sgo");
	check("Main_main1_info", "Main.main1");
	check("Main_zpzp_info", "Main.++");
	check("Main_zzip_info", "Main.zip");
	/* Names of C. */
	check("resize_info", NULL);
	check("get_Size_info", NULL);
	check("base_GHCziBase_map_closure", NULL);
	check("Main_z_info", NULL);
	check("_info", NULL);
	check("x_info", NULL);
	check("x__info", NULL);
	check("print_z_info", NULL);
}

TEST(d)
{
	check("_Dmain", "D main");
	check("_D1a3fibFiZi", "a.fib");
	check("_D4core6memory2GC6mallocFmkxC8TypeInfoZPv", "core.memory.GC.malloc");
	check("_D1a4Node4spinMFiZv", "a.Node.spin");
	check("_D1a__T3BoxTlZQh__T5twiceTiZQjMFiZl", "a.Box!(long).Box.twice!(int).twice");
	check("_D1a4mainFZ9__lambda3FiZi", "a.main.__lambda3");
	check("_D1a3fibFiZi.constprop.0@plt", "a.fib@plt");
	check("_D", NULL);
	check("_Debug", NULL);
	check("_D9", NULL);
	check("_D9a", NULL);
}

/* Each type has the one before twice: without a limit, this is a terabyte. */
TEST(exploding_names_of_d)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};

	strbuf_adds(&name, "_D1a1b3fooFHii");
	for (int i = 0; i < 40; i++)
		strbuf_adds(&name, i ? "HQeQg" : "HQcQe");
	strbuf_adds(&name, "Zi");
	check(strbuf_text(&name), "a.b.foo.…");
}

TEST(swift)
{
	check("$s5swift5heavyys6UInt32VADF", "swift.heavy");
	check("$s4main3fooyyF", "main.foo");
	check("_$s4main3fooyyF", "main.foo");
	check("$s4main5ShapeC4areaSdyF", "main.Shape.area");
	check("$s4main5ShapeCACycfC", "main.Shape.init");
	check("$s4main5ShapeCfD", "main.Shape.deinit");
	check("$s4main3fooyyFSiXEfU_", "main.foo.(closure)");
	/* Words of earlier parts, by letter: camelCase has two. */
	check("$s10helloWorld0A5ThingV3runyyF", "helloWorld.helloThing.run");
	check("$s10helloWorld0B0V0aB5BothsyyF", "helloWorld.World.helloWorldBoths");
	/* Private to a file, known by its hash */
	check("$s4main3foo33_0123456789ABCDEF0123456789ABCDEFLLyyF", "main.foo");
	check("$sSa6appendyyxnF", "Swift.Array.append");
	check("$ss5printyyypd_tF", "Swift.print");
	check("$s4main", NULL);
	check("$s", NULL);
	check("$s9", NULL);
	check("$s0A", NULL);
	check("$s4main00A", NULL);
	check("$s4main9x", NULL);
}

TEST(free_pascal)
{
	check("P$APAS_$$_FIB$LONGINT$$LONGINT", "Fib");
	check("P$APAS$_$TWORK_$__$$_SPIN$LONGINT", "Twork.Spin");
	check("P$BPAS$_$OUTER$LONGINT$$LONGINT_$$_INNER$LONGINT$$LONGINT", "Outer.Inner");
	check("SYSTEM$_$TOBJECT_$__$$_CREATE$$TOBJECT", "System.Tobject.Create");
	check("SYSTEM_$$_MOVE$formal$formal$INT64", "System.Move");
	check("FPC_MOVE", NULL);
	check("_$$_", NULL);
	check("A_$$_", NULL);
	check("P$", NULL);
}

TEST(fortran)
{
	check("__mesh_MOD_refine", "mesh::refine");
	check("__mesh_MOD_refine.31.isra.0", "mesh::refine");
	/* Made for a type; a procedure of a submodule */
	check("__mesh_MOD___copy_mesh_Cell", "mesh::__copy_mesh_Cell");
	check("__mesh.parts_MOD_refine", "mesh.parts::refine");
	check("__mesh_MOD_", NULL);
	check("__mesh_MOD_.cold", NULL);
	check("___MOD_refine", NULL);
	check("__Mesh_MOD_refine", NULL);
	check("mesh_MOD_refine", NULL);
}

TEST(prolog)
{
	check("X0_spin__a3", "spin/3");
	check("X0_call__with__a10", "call__with/10");
	check("X1_247573655F616C6C__a0", "$use_all/0");
	check("X1_24757__a0", NULL);
	check("X1_2475G0__a0", NULL);
	check("X1_0024__a0", NULL);
	check("X0_spin__a", NULL);
	check("X0___a3", NULL);
	check("X0_spin_a3", NULL);
	check("X2_user__spin__a3", NULL);
}

TEST(ada)
{
	check("ada__exceptions__triggered_by_abort", "Ada.Exceptions.Triggered_By_Abort");
	check("system__tasking__stages__task_wrapper", "System.Tasking.Stages.Task_Wrapper");
	check("gnat__sockets__Oand__2", "Gnat.Sockets.\"and\"");
	check("_ada_work", "Work");
	check("_ada_work.cold", "Work");
	/* A task's body, operators, a finalizer that only GNAT names, and not Ada at all */
	check("ada__x__workerTKB", "Ada.X.Worker");
	check("ada__x__Oadd.31.isra.0", "Ada.X.\"+\"");
	check("ada__x__B_3___finalizer.2", "Ada.X.B_3._Finalizer");
	check("adainit", NULL);
	check("ada__", "Ada__");
}

/* Names of other languages stay as their compilers wrote them. */
TEST(other_languages)
{
	check("main.(*T).Method", NULL);
	check("runtime.mallocgc", NULL);
}

/* GCC puts the name with arguments into that of the frame. */
TEST(coroutines)
{
	check("_ZN3app4leafEPZN3app4leafIjEE4taskT_E29_ZN3app4leafIjEE4taskT_.Frame.actor",
	      "app::leaf<unsigned int>");
	check("_ZN3app4leafEPNS_29_ZN3app4leafIjEE4taskT_.FrameE.actor", "app::leaf<unsigned int>");
	check("_ZN3app4leafEPNS_29_ZN3app4leafIjEE4taskT_.FrameE.actor.cold",
	      "app::leaf<unsigned int>");
	check("_ZZ4mainENUljE_clEPZ4mainENS_26_ZZ4mainENKUljE_clEj.FrameE.destroy",
	      "main::{lambda#1}::operator()");
	check("_ZN3app4leafIjEEvT_.resume", "app::leaf<unsigned int>");
	check("_ZN3app4leafEPNS_28_ZN3app4leafIjEE4taskT_.FrameE.actor", "app::leaf");
	check("_Z1.Frame", NULL);
	check(".Frame", NULL);
}

TEST(parts_and_files_of_functions)
{
	check("mid.__part.2", "mid");
	check("_Z3midi.__part.2", "mid");
	check("helper.__uniq.123456789", "helper");
	check("helper.__uniq.123456789.__part.3", "helper");
	check("mid.__part.", NULL);
	check("mid.__part.x", NULL);
	check(".__part.1", NULL);
}

/* Some compilers are newer than libiberty. */
TEST(names_that_are_readable_in_part)
{
	/* A parameter whose type depends on another one */
	check("_Z3runIjTnPFT_S0_EXadL_Z4stepjEEES0_S0_", "run<unsigned int, …>");
	/* A reflection */
	check("_Z5aboutILDmvr5totalEEjj", "about<…>");
	check("_ZN1a5aboutISt4pairIiiELDmvr5totalEEEjj", "a::about<std::pair<int, int>, …>");
	/* Constraints */
	check_either("_ZN6hiddenW6shapesW4area5twiceIjQgtstT_Li2EEES3_S3_",
		     "hidden::twice@shapes.area<unsigned int, …>",
		     "hidden::twice@shapes.area<unsigned int>");
	check_either("_ZN1AclIjQgtstT_Li2EEEjS1_", "A::operator()<unsigned int, …>",
		     "A::operator()<unsigned int>");
	check_either("_ZZ1fjENKUlT_E_clIjQgtstS_Li2EEEDaS_", "f::…",
		     "f::{lambda#1}::operator()<unsigned int>");
	check("_ZN1aC1EvQ26is_default_constructible_vIT1_E", "a::a");
	/* Friends of classes */
	check_either("_ZZ4mainEN1AF1fEv", "main::…", "main::A::f[friend]");
	check_either("_ZN1aF1fEv", "a::…", "a::f[friend]");
	check("_Z3runIjTnPFT_S0_EXadL_Z4stepjEEES0_S0_.cold@plt", "run<unsigned int, …>@plt");
}

TEST(names_that_are_not_mangled)
{
	check("main", NULL);
	check("", NULL);
	check("_", NULL);
	check("_start", NULL);
	check("_Z", NULL);
	check("_Zfoo", NULL);
	check("_R", NULL);
	check("_Range_check", NULL);
	check("_ZN3foo3barEi_rubbish", NULL);
}

/* Eigen's and Boost's have more than a thousand bytes. */
TEST(long_names)
{
	_cleanup_(strbuf_release) struct strbuf mangled = {0}, expected = {0};

	strbuf_adds(&mangled, "_Z1fIJ");
	strbuf_adds(&expected, "f<");
	for (int i = 0; i < 300; i++) {
		strbuf_addf(&mangled, "9type_%04d", i);
		strbuf_addf(&expected, "%stype_%04d", i ? ", " : "", i);
	}
	strbuf_adds(&mangled, "EEvv");
	strbuf_adds(&expected, ">");
	check(strbuf_text(&mangled), strbuf_text(&expected));
}

TEST(overlong_names_are_left_alone)
{
	char name[6000];

	/* f(int, int, …) */
	memset(name, 'i', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 1] = '\0';
	check(name, NULL);
	name[5] = '\0';
	check(name, "f");
}

/* Each argument doubles the one before: without a limit, this is a terabyte. */
TEST(exploding_names_are_given_up)
{
	const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct strbuf name = {0};

	strbuf_adds(&name, "_Z1f1BIiiE");
	strbuf_adds(&name, "S_IS0_S0_E");
	check(strbuf_text(&name), "f");
	for (int i = 1; i < 36; i++)
		strbuf_addf(&name, "S_IS%c_S%c_E", digits[i], digits[i]);
	check(strbuf_text(&name), NULL);
	strbuf_release(&name);
}

TEST(the_last_result_is_replaced)
{
	struct strbuf readable = {0};

	assert_true(demangle("_Z3foov", &readable));
	assert_true(demangle("_Z1gv", &readable));
	assert_string_equal(strbuf_text(&readable), "g");
	strbuf_release(&readable);
}

TEST(cython)
{
	/* Both halves of a function that Python calls. */
	check("__pyx_pw_4cmod_3Box_3call_back", "cmod.Box.call_back");
	check("__pyx_pf_4cmod_3Box_2call_back", "cmod.Box.call_back");
	check("__pyx_pw_4cmod_1spin", "cmod.spin");
	check("__pyx_pf_4cmod_spin", "cmod.spin");
	check("__pyx_pw_4cmod_3Box_1__init__", "cmod.Box.__init__");
	check("__pyx_pf_4cmod_3Box___init__", "cmod.Box.__init__");
	check("__pyx_pf_4cmod_5outer_inner", "cmod.outer.inner");
	check("__pyx_gb_4cmod_5outer_4generator1", "cmod.outer.generator1");
	check("__pyx_pw_4cmod_7__pyx_unpickle_Box", "cmod.__pyx_unpickle_Box");
	check("__pyx_pw_4cmod_5call_back", "cmod.call_back");
	check("__pyx_pw_4cmod_5outer_1inner", "cmod.outer.inner");
	check("__pyx_pw_4cmod_4call_back", "cmod.call_back");
	check("__pyx_pw_4cmod_10call_back", "cmod.call_back");
	check("__pyx_pw_4cmod_3Box_", "cmod.Box_");
	/* Functions of C, and generators */
	check("__pyx_f_6uvloop_4loop_4Loop__run", "uvloop.loop.Loop._run");
	check("__pyx_f_4cmod_cy_spin", "cmod.cy_spin");
	check("__pyx_gb_4cmod_3Box_4generator", "cmod.Box.generator");
	check("__pyx_f_4cmod_cy_spin.constprop.0", "cmod.cy_spin");
	check("__pyx_f_4cmod_cy_spin.part.0.cold@plt", "cmod.cy_spin@plt");
	check("__pyx_f_4a_b1_x", "a_b1.x");
	/* back of call, or the fourth function, call_back */
	check("__pyx_pf_4cmod_4call_back", NULL);
}

TEST(no_names_of_cython)
{
	static const char *const names[] = {
		"__pyx_",
		"__pyx_f_",
		"__pyx_pw_",
		"__pyx_f_spin",
		"__pyx_f_4cmod",
		"__pyx_f_4cmod_",
		"__pyx_f_5cmod_spin",
		"__pyx_f_3cmod_spin",
		"__pyx_f_0_spin",
		"__pyx_f_04cmod_spin",
		"__pyx_f_4cmod_0spin",
		"__pyx_f_4cmod_2spin",
		"__pyx_f_4cmod_sp-in",
		"__pyx_f_4cmod_sp in",
		"__pyx_f_99999999999999999999999999_x",
		"__pyx_f_4096_x",
		"__pyx_pw_4cmod_spin",
		"__pyx_pw_4cmod_1",
		"__pyx_pw_4cmod_",
		"__pyx_pw_1",
		"__pyx_pf_4cmod_",
		"__pyx_tp_new_4cmod_Box",
		"__pyx_pymod_exec_cmod",
		"_pyx_f_4cmod_spin",
		"__pyx_f_4cmod_.cold",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		check(names[i], NULL);
}

TEST(mypyc)
{
	check("CPyDef_M___m_back", "M.m_back");
	check("CPyPy_M___m_back", "M.m_back");
	check("CPyDef_m_spin", "m_spin");
	check("CPyDef_mod___M_____init__", "mod.M.__init__");
	check("CPyDef___top_level__", "__top_level__");
	check("CPyDef_a___3_b___c", "a___b.c");
	check("CPyDef_M___m_back.cold", "M.m_back");
	check("CPyDef_", NULL);
	check("CPyDef____x", NULL);
	check("CPyDef_x___", NULL);
	check("CPyDef_x___1", NULL);
	check("CPyDef_1x", NULL);
	check("CPyDef_x y", NULL);
	check("CPyTagged_Add", NULL);
	check("CPy", NULL);
}

/* Every prefix, in memory that ends there: sanitizers see reads beyond it. */
TEST(names_of_python_that_end_anywhere)
{
	static const char *const names[] = {
		"__pyx_pw_4cmod_3Box_3call_back.cold@plt",
		"__pyx_pf_4cmod_3Box___init__",
		"__pyx_f_6uvloop_4loop_4Loop__run",
		"CPyDef_mod___M___3_x_____init__",
	};
	struct strbuf readable = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (size_t size = 0; size <= strlen(names[i]); size++) {
			char *name = malloc(size + 1);

			memcpy(name, names[i], size);
			name[size] = '\0';
			demangle(name, &readable);
			free(name);
		}
	}
	strbuf_release(&readable);
}
