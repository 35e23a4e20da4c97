// SPDX-License-Identifier: MIT
// Scopes of all kinds around functions that are inlined. The marks are where the tests look.
#define MARK(name) asm volatile(".globl " #name "\n" #name ": nop")

namespace outer
{
template <class T> struct Box {
	T value;
	inline __attribute__((always_inline)) T get()
	{
		MARK(mark_get);
		return value;
	}
};
} // namespace outer

namespace
{
struct Hidden {
	int value;
	inline __attribute__((always_inline)) int twice()
	{
		MARK(mark_twice);
		return value * 2;
	}
};
} // namespace

static inline __attribute__((always_inline)) int twice_hidden(int n)
{
	Hidden h{n};

	return h.twice();
}

extern "C" int in_lambda(int n)
{
	auto lambda = [n](int k) __attribute__((noinline)) {
		MARK(mark_lambda);
		return twice_hidden(k) + n;
	};

	return lambda(n) + lambda(n + 1);
}

extern "C" void _start()
{
	outer::Box<int> box{in_lambda(3)};

	box.get();
	for (;;) {
	}
}
