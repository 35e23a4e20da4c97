/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Shows what Perl's interpreter exports, as in builds of Debian, and without threads: compiled by
 * tests/fuzz/make-perl-seeds. MINOR is its version.
 */
const unsigned char PL_version = MINOR;
void *PL_curinterp;
#ifdef THREADS
int PL_thr_key;
#elif !defined(LACKS_STACK)
void *PL_curstackinfo, *PL_curcop;
#endif

int Perl_runops_standard(void *interpreter) { return interpreter != 0; }
int Perl_runops_debug(void *interpreter) { return interpreter == 0; }
int perl_run(void *interpreter) { return Perl_runops_standard(interpreter) + 1; }
