// SPDX-License-Identifier: MIT
// Spends the given ms of CPU time in two functions of WebAssembly, one of them called by a function
// of JavaScript that another calls; prints the share of the first. With "plain", the module does
// not tell the names of its functions.
const number = n => n > 127 ? [n & 127 | 128, ...number(n >> 7)] : [n];
const sized = bytes => [...number(bytes.length), ...bytes];
const list = items => [...number(items.length), ...items.flat()];
const text = string => sized([...Buffer.from(string)]);
const section = (id, bytes) => [id, ...sized(bytes)];

const I32 = 0x7f;
const end = 0x0b, call = f => [0x10, ...number(f)], get = n => [0x20, n], set = n => [0x21, n];
const constant = n => [0x41, n]; // below 64
// Repeats until the argument is 0.
const loop = [
	0x03, 0x40, ...get(1), ...constant(31), 0x6c, ...get(0), 0x6a, ...set(1),
	...get(0), ...constant(1), 0x6b, 0x22, 0, 0x0d, 0, end, ...get(1),
];
const body = (locals, code) => sized([...(locals ? [1, locals, I32] : [0]), ...code, end]);
const names = ["back", "hot", "middle", "descend", "outward", "cold"];
const bodies = [
	body(1, loop), // hot
	body(0, [...get(0), ...call(1)]), // middle
	// descend: as often as the second argument says
	body(0, [...get(1), 0x45, 0x04, I32, ...get(0), ...call(2), 0x05,
		...get(0), ...get(1), ...constant(1), 0x6b, ...call(3), ...constant(1), 0x6a, end]),
	body(0, [...get(0), ...call(0), ...constant(1), 0x6a]), // outward
	body(1, loop), // cold
];
const file = [
	0, ...Buffer.from("asm"), 1, 0, 0, 0,
	...section(1, list([[0x60, 1, I32, 1, I32], [0x60, 2, I32, I32, 1, I32]])),
	...section(2, list([[...text("env"), ...text("back"), 0, 0]])),
	...section(3, list([[0], [0], [1], [0], [0]])),
	...section(7, list([[...text("descend"), 0, 3], [...text("outward"), 0, 4],
		[...text("cold"), 0, 5]])),
	...section(10, list(bodies)),
	...(process.argv[3] === "plain" ? [] : section(0, [...text("name"),
		...section(0, text("work")),
		...section(1, list(names.map((name, i) => [i, ...text(name)])))])),
];

const compiled = new WebAssembly.Module(new Uint8Array(file));
const work = new WebAssembly.Instance(compiled, { env: { back } }).exports;
const spent = [0, 0];

function back(n) {
	return work.cold(n);
}

function inward() {
	return work.descend(2000000, 5);
}

function across() {
	return work.outward(2000000);
}

function time(which, run) {
	const begin = process.cpuUsage().user;

	run();
	spent[which] += process.cpuUsage().user - begin;
}

while (spent[0] + spent[1] < 1000 * process.argv[2]) {
	while (spent[0] <= spent[1] * 2)
		time(0, inward);
	time(1, across);
}
console.log(spent[0] / (spent[0] + spent[1]));
