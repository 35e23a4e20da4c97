// SPDX-License-Identifier: MIT
// A function that is a template, of a type without a name: GCC gives it no linkage name either.
#define MARK(name) asm volatile(".globl " #name "\n" #name ": nop")

extern "C" int in_generic_lambda(int n)
{
	auto lambda = [n](auto k) __attribute__((noinline)) {
		MARK(mark_generic_lambda);
		return k + n;
	};

	return lambda(n);
}

extern "C" void _start()
{
	in_generic_lambda(3);
	for (;;) {
	}
}
