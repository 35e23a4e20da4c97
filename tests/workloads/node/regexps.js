// SPDX-License-Identifier: MIT
// Spends the given ms of CPU time in two regular expressions, one of them in a callback of a third;
// prints the share of the first.
const names = "anna berta claudia doe!", letters = "x".repeat(17), words = "aaa bbb ccc ddd";
const spent = [0, 0];

function validate() {
	return /^(\w+\s?)*$/.test(names);
}

const pairs = /(x+x+)+y/;

function search(match) {
	return pairs.test(letters) ? "" : match;
}

function replaceAll() {
	return words.replace(/[a-c]+/g, search);
}

function time(which, run) {
	const begin = process.cpuUsage().user;

	for (let i = 0; i < 8; i++)
		run();
	spent[which] += process.cpuUsage().user - begin;
}

while (spent[0] + spent[1] < 1000 * process.argv[2]) {
	while (spent[0] <= spent[1] / 2)
		time(0, validate);
	time(1, replaceAll);
}
console.log(spent[0] / (spent[0] + spent[1]));
